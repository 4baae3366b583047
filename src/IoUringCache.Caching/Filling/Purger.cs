using IoUringCache.Caching.Storage;
using IoUringCache.Caching.Telemetry;

namespace IoUringCache.Caching.Filling;

/// <summary>
/// Takes objects out of use because their origin says so: hard, as if they had never been stored, or soft, stale from now on. Readers
/// finish, and fills in flight that are concerned finish for their readers and are not stored. Any thread; one per service.
/// </summary>
internal sealed class Purger(PurgeEpochs epochs, FillTable fills, ObjectStore store, KeyMarkers markers, CacheMetrics metrics)
{
    /// <summary>Takes purges to other nodes; <see langword="null"/> without any. Set before the first request.</summary>
    public IPurgeLog? Log { get; set; }

    /// <summary>Purges here, and tells other nodes.</summary>
    public PurgeReport Purge(Purge purge) => Purge(purge, out _);

    /// <inheritdoc cref="Purge(Purge)"/>
    /// <param name="logged">Completes when the log has the purge, with its number there; <see langword="null"/> without a log.</param>
    public PurgeReport Purge(Purge purge, out Task<long>? logged)
    {
        PurgeReport report = Apply(purge);
        metrics.Purges.Add(purge.Kind, report.Objects, report.DiskObjects ?? 0);
        logged = Log?.Append(purge);
        return report;
    }

    /// <summary>The same for what a request may have changed, which counts as no purge.</summary>
    public void Invalidate(Purge purge)
    {
        Apply(purge);
        Log?.Append(purge);
    }

    /// <summary>Purges here. The time does not depend on how much that is.</summary>
    public PurgeReport Apply(Purge purge) => purge.Scope switch
    {
        PurgeScope.Key => purge.IsSoft ? fills.MakeStale(purge.Name) : fills.Invalidate(purge.Name),
        PurgeScope.Tag => Report(epochs.PurgeTag(purge.Name, purge.IsSoft), purge.IsSoft),
        PurgeScope.Prefix => Report(epochs.PurgePrefix(purge.Name, purge.IsSoft), purge.IsSoft),
        _ => ApplyToAll(purge.IsSoft),
    };

    /// <summary>Ends when nothing that was purged or invalidated before the call can be found by a later process either.</summary>
    public Task SettledAsync() => store.Below?.SettledAsync() ?? Task.CompletedTask;

    private PurgeReport Report(Tag tag, bool isSoft)
    {
        PurgeReport report = new(
            Volatile.Read(ref tag.ObjectsIn(TagKeeper.Store)),
            store.Below is null ? null : Volatile.Read(ref tag.ObjectsIn(TagKeeper.Disk)),
            fills.Describe().Count(fill => fill.MayHave(tag)));
        Finish(tag, isSoft);
        return report;
    }

    /// <summary>Markers included.</summary>
    private PurgeReport ApplyToAll(bool isSoft)
    {
        PurgeReport report = new(store.Count, store.Below?.Count, fills.ActiveCount);
        epochs.PurgeAll(isSoft);
        markers.DropAll();
        Finish(tag: null, isSoft);
        return report;
    }

    private void Finish(Tag? tag, bool isSoft)
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

/// <summary>A log that takes the purges of this cache to other nodes. Any thread; owned by its maker.</summary>
internal interface IPurgeLog
{
    /// <summary>Adds a purge that this node has applied. Returns at once, and keeps the purge until the log has it.</summary>
    /// <returns>Completes when the log has the purge, with its number there.</returns>
    Task<long> Append(Purge purge);

    /// <summary>Waits until every node that serves has applied all purges up to a number.</summary>
    /// <param name="number">A result of <see cref="Append"/>.</param>
    /// <returns>The names of the nodes that have not.</returns>
    Task<IReadOnlyList<string>> WaitUntilAppliedAsync(long number, TimeSpan limit);
}
