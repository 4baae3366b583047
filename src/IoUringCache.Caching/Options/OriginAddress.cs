namespace IoUringCache.Caching.Options;

/// <summary>What stands behind the service: one of the two, or neither for the embedded demo origin. Immutable.</summary>
/// <param name="Url">Base URL without its trailing slash.</param>
/// <param name="Directory">Absolute path without its trailing slash.</param>
internal readonly record struct OriginAddress(string? Url, string? Directory);
