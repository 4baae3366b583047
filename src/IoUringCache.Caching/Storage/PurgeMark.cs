namespace IoUringCache.Caching.Storage;

/// <summary>Which purge, and when. Immutable.</summary>
/// <param name="Epoch">What has a lower one is concerned.</param>
/// <param name="Time">Time stamp of the service's clock.</param>
internal sealed record PurgeMark(long Epoch, long Time);
