namespace IoUringCache.Caching.Http;

/// <summary>A form of the same content: as it is, or encoded (RFC 9110 8.4.1).</summary>
internal enum ContentCoding
{
    Identity,
    Brotli,
    Gzip,
    Zstandard,
}
