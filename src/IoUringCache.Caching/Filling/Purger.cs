using IoUringCache.Caching.Storage;

namespace IoUringCache.Caching.Filling;

/// <summary>
/// Takes objects out of use because their origin says so: hard, as if they had never been stored, or soft, stale from now on. Readers
/// finish, and fills in flight that are concerned finish for their readers and are not stored. Any thread; one per service.
/// </summary>
internal sealed class Purger(PurgeEpochs epochs, FillTable fills, ObjectStore store, KeyMarkers markers)
{
    /// <summary>One key with all its variants.</summary>
    public PurgeReport PurgeKey(string key, bool isSoft) => isSoft ? fills.MakeStale(key) : fills.Invalidate(key);

    /// <summary>Everything with a tag; the time does not depend on how much that is.</summary>
    public PurgeReport PurgeTag(string name, bool isSoft)
    {
        Tag tag = epochs.PurgeTag(name, isSoft);
        PurgeReport report = new(
            Volatile.Read(ref tag.ObjectsIn(TagKeeper.Store)),
            store.Below is null ? null : Volatile.Read(ref tag.ObjectsIn(TagKeeper.Disk)),
            fills.Describe().Count(fill => fill.MayHave(tag)));
        Finish(name, isSoft);
        return report;
    }

    /// <summary>Everything, markers included; the time does not depend on how much that is.</summary>
    public PurgeReport PurgeAll(bool isSoft)
    {
        PurgeReport report = new(store.Count, store.Below?.Count, fills.ActiveCount);
        epochs.PurgeAll(isSoft);
        markers.DropAll();
        Finish(tag: null, isSoft);
        return report;
    }

    /// <summary>Ends when nothing that was purged or invalidated before the call can be found by a later process either.</summary>
    public Task SettledAsync() => store.Below?.SettledAsync() ?? Task.CompletedTask;

    private void Finish(string? tag, bool isSoft)
    {
        // After the mark: whatever looks from here on sees it.
        if (!isSoft)
        {
            store.StartReclaim();
        }

        store.Below?.RecordPurge(tag);
        fills.Reconsider();
    }
}
