using CachingService.Storage;

namespace CachingService.Filling;

/// <summary>
/// Takes objects out of use because their origin says so: hard, as if they had never been stored, or soft, stale from now on. Readers
/// finish, and fills in flight that are concerned finish for their readers and are not stored. Any thread; one per service.
/// </summary>
internal sealed class Purger(PurgeEpochs epochs, FillTable fills, ObjectStore store, KeyMarkers markers)
{
    /// <summary>One key with all its variants. Returns how many objects were stored.</summary>
    public int PurgeKey(string key, bool isSoft) => isSoft ? fills.MakeStale(key) : fills.Invalidate(key);

    /// <summary>Everything with a tag; the time does not depend on how much that is.</summary>
    public void PurgeTag(string tag, bool isSoft)
    {
        epochs.PurgeTag(tag, isSoft);
        Finish(tag, isSoft);
    }

    /// <summary>Everything, markers included; the time does not depend on how much that is.</summary>
    public void PurgeAll(bool isSoft)
    {
        epochs.PurgeAll(isSoft);
        markers.DropAll();
        Finish(tag: null, isSoft);
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
