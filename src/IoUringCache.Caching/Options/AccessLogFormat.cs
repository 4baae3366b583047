namespace IoUringCache.Caching.Options;

/// <summary>What a line of the access log looks like.</summary>
internal enum AccessLogFormat
{
    /// <summary>An object of JSON.</summary>
    Json,

    /// <summary>Common, with <c>Referer</c> and <c>User-Agent</c> before the last word.</summary>
    Combined,

    /// <summary>Client, time, request line, status and bytes, as of the first web servers; then how the cache answered.</summary>
    Common,
}
