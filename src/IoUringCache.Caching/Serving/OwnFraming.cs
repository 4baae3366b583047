using IoUringCache.Caching.Http;
using IoUringCache.Caching.Storage;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace IoUringCache.Caching.Serving;

/// <summary>
/// Whether a response is chunked by us, from frames that lie around the body in memory, and not by Kestrel. Kestrel then neither checks
/// nor repairs anything, so whoever uses it ends the body with <see cref="ChunkFrame.Last"/> or cuts the client. Any thread.
/// </summary>
internal static class OwnFraming
{
    /// <summary>Asked before the response starts, when its status and Content-Length are settled.</summary>
    /// <remarks>
    /// HTTP/2 and HTTP/1.0 have no chunks, and Kestrel would send ours as content; where a response has no body, it throws at the field.
    /// What stands between us and Kestrel's own body (compression) would take the frames for content too.
    /// </remarks>
    public static bool Suits(HttpContext context, ObjectBody body) =>
        body.IsFramed
        && context.Response.ContentLength is null
        && HttpProtocol.IsHttp11(context.Request.Protocol)
        && HttpMethods.IsGet(context.Request.Method)
        && context.Response.StatusCode == StatusCodes.Status200OK
        && context.Features.Find<IHttpResponseBodyFeature>()?.GetType().Assembly == typeof(KestrelServer).Assembly;
}
