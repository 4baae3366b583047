namespace IoUringCache.Caching.Storage;

/// <summary>What a purge has hit, counted while it ran. Immutable.</summary>
/// <param name="Objects">
/// Objects in memory. Those that an earlier purge has hit count again as long as no sweep has removed them, about a second.
/// </param>
/// <param name="DiskObjects">
/// Objects on the disk, some of them also in memory; <see langword="null"/> without a disk tier. Those that an earlier purge has hit count again.
/// </param>
/// <param name="Fills">Fills in flight that are not stored because of it; with a tag, those whose headers have not come may have it.</param>
internal readonly record struct PurgeReport(int Objects, int? DiskObjects, int Fills);
