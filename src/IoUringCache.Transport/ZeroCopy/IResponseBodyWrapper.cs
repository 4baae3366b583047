using Microsoft.AspNetCore.Http.Features;

namespace IoUringCache.Transport.ZeroCopy;

/// <summary>A response body of the transport over another one, to which it passes everything that is written.</summary>
internal interface IResponseBodyWrapper
{
    /// <summary>The body below.</summary>
    IHttpResponseBodyFeature Inner { get; }
}
