namespace IoUringCache.Caching.Storage;

/// <summary>A reader of something that only readers keep, at one moment. Immutable.</summary>
/// <param name="Reader">Who.</param>
/// <param name="Lag">Bytes that it still has before it.</param>
internal readonly record struct PinnedReader(ReaderLink Reader, long Lag);
