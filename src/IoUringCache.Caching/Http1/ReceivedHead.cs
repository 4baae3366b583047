using IoUringCache.Caching.Http;

namespace IoUringCache.Caching.Http1;

/// <summary>The head of a response as it came. Owned by its connection, and valid until that is asked again or given back.</summary>
/// <param name="StatusCode">100 to 999.</param>
/// <param name="MinorVersion">Of HTTP/1.</param>
/// <param name="Fields">In their order; lines of one name together, at the place of the first.</param>
internal readonly record struct ReceivedHead(int StatusCode, int MinorVersion, List<HeaderField> Fields);
