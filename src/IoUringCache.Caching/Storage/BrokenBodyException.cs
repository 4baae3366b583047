namespace IoUringCache.Caching.Storage;

/// <summary>The origin died in the middle of a body: whoever reads it must be cut visibly.</summary>
internal sealed class BrokenBodyException() : IOException("The body ended before it was complete.");
