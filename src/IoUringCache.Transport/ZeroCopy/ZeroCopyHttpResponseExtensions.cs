using System.Diagnostics.CodeAnalysis;
using IoUringCache.Transport.ZeroCopy;

namespace Microsoft.AspNetCore.Http;

/// <summary>Zero-copy bodies of responses, on any transport.</summary>
/// <example><code>
/// ZeroCopyWriter body = await context.Response.StartZeroCopyAsync(context.RequestAborted);
/// await body.WriteAsync(logo, context.RequestAborted);
/// </code></example>
[Experimental("IOURING002", Message = ZeroCopyWriter.ExperimentalMessage)]
public static class ZeroCopyHttpResponseExtensions
{
    /// <summary>
    /// Starts the response, so that status and headers are settled, and returns the writer of its body. The writer
    /// sends memory without a copy where that is possible, and copies it elsewhere.
    /// </summary>
    /// <param name="response">
    /// A response without a body so far. Its Content-Length is set, or the application frames the body itself and has
    /// set <c>Transfer-Encoding: chunked</c>; otherwise the server frames the body and copies everything.
    /// </param>
    /// <param name="cancellationToken">Ends the start, which is quick.</param>
    /// <returns>The body's writer; <see cref="ZeroCopyWriter.IsZeroCopy"/> says what it does.</returns>
    /// <exception cref="OperationCanceledException">By <paramref name="cancellationToken"/>.</exception>
    public static async ValueTask<ZeroCopyWriter> StartZeroCopyAsync(this HttpResponse response, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(response);

        // After the start, a header that Kestrel has set looks the same.
        bool isFramedByApplication = !response.HasStarted && response.Headers.TransferEncoding.Count != 0;
        await response.StartAsync(cancellationToken);
        return new ZeroCopyWriter(response, isFramedByApplication);
    }
}
