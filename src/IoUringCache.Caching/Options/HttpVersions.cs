namespace IoUringCache.Caching.Options;

/// <summary>HTTP versions that the public addresses serve.</summary>
internal enum HttpVersions
{
    /// <summary>Both where TLS negotiates; HTTP/1.1 without TLS.</summary>
    Http1AndHttp2,

    Http1,

    /// <summary>Without TLS this is h2c with prior knowledge.</summary>
    Http2,
}
