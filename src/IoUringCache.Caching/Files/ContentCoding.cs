namespace IoUringCache.Caching.Files;

/// <summary>A form in which a file is served: as it is, or encoded beforehand by somebody else (RFC 9110 8.4.1).</summary>
internal enum ContentCoding
{
    Identity,
    Brotli,
    Gzip,
}
