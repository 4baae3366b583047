namespace IoUringCache.Caching.Storage;

/// <summary>What a purge has hit, counted while it ran. Immutable.</summary>
/// <param name="Objects">
/// Objects in memory. With a tag, a prefix or all, those that an earlier purge has hit count again as long as no sweep has removed them, about a second.
/// </param>
/// <param name="DiskObjects">
/// Objects on the disk, some of them also in memory; <see langword="null"/> without a disk tier. With a tag, a prefix or all, those that an earlier
/// purge has hit count again.
/// </param>
/// <param name="Fills">Fills in flight that are not stored because of it; with a tag, those whose headers have not come may have it.</param>
internal readonly record struct PurgeReport(int Objects, int? DiskObjects, int Fills)
{
    /// <summary>Whether it has hit nothing that this node knows of.</summary>
    public bool IsEmpty => Objects == 0 && DiskObjects is null or 0 && Fills == 0;

    public static PurgeReport operator +(PurgeReport one, PurgeReport other) =>
        new(one.Objects + other.Objects, one.DiskObjects + other.DiskObjects, one.Fills + other.Fills);
}
