using Microsoft.AspNetCore.Http.Features;

namespace IoUringCache.Transport.ZeroCopy;

/// <summary>A response's body of ours over the one that was there, which gets everything that is written.</summary>
internal interface IResponseBodyWrapper
{
    /// <summary>What lies below.</summary>
    IHttpResponseBodyFeature Inner { get; }
}
