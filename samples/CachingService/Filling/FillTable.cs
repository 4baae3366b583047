using CachingService.Origins;
using CachingService.Storage;

namespace CachingService.Filling;

/// <summary>
/// The fills in flight: at most one per key takes readers. Hits do not come here. Any thread; one per service. Its lock may be held when
/// a fill's or the store's lock is taken, never the other way round.
/// </summary>
internal sealed class FillTable(FillServices services)
{
    private readonly Lock _lock = new();

    /// <summary>The latest fill of each key. One that takes no readers any more stays until it ends or a newer one takes its place.</summary>
    private readonly Dictionary<string, Fill> _latest = new(StringComparer.Ordinal);

    /// <summary>All fills that have not ended.</summary>
    private readonly HashSet<Fill> _active = [];

    public int ActiveCount
    {
        get
        {
            lock (_lock)
            {
                return _active.Count;
            }
        }
    }

    /// <summary>Hit, join or create: the one place where the three meet.</summary>
    /// <param name="key">Raw bytes after <c>/object/</c>.</param>
    /// <param name="makeRequest">Copies what a new fill needs of the client's request; called only for a new fill.</param>
    /// <param name="cut">Ends the client's answer visibly; called if it falls too far behind.</param>
    public Lookup JoinOrCreate(string key, Func<OriginRequest> makeRequest, Action cut)
    {
        Fill fill;
        FillMember? member;
        lock (_lock)
        {
            if (_latest.TryGetValue(key, out Fill? running))
            {
                switch (running.TryJoin(isLeader: false, cut, out member))
                {
                    case JoinOutcome.Joined:
                        return new(null, new(running, member!), null);
                    case JoinOutcome.Full:
                        return new(null, null, "too-many-readers");
                }
            }

            // A fill may have completed since the caller looked.
            if (services.Store.TryGet(key, out CachedObject? stored))
            {
                return new(stored, null, null);
            }

            if (_active.Count >= services.Options.MaxFills)
            {
                return new(null, null, "too-many-fills");
            }

            if (services.Ledger.InFlightBytes >= services.Options.MaxInFlightBytes)
            {
                return new(null, null, "too-many-bytes-in-flight");
            }

            fill = new(makeRequest(), services, Remove);
            fill.TryJoin(isLeader: true, cut, out member);
            _latest[key] = fill;
            _active.Add(fill);
        }

        fill.Start();
        return new(null, new(fill, member!), null);
    }

    /// <summary>Joins a fill in flight for its headers, if there is one.</summary>
    public FillReader? TryJoin(string key, Action cut)
    {
        lock (_lock)
        {
            return _latest.TryGetValue(key, out Fill? fill) && fill.TryJoin(isLeader: false, cut, out FillMember? member) == JoinOutcome.Joined
                ? new(fill, member!)
                : null;
        }
    }

    /// <summary>
    /// What is stored under a key is removed, and what is being received for it is not stored: its readers finish, and the next request
    /// starts a new fill.
    /// </summary>
    public void Invalidate(string key)
    {
        List<Fill> fills;
        lock (_lock)
        {
            // Of one key there may be several; one that begins after this sees the new object.
            fills = [.. _active.Where(fill => fill.Key == key)];
        }

        // Fills first: one that completes in between is in the store by the time that is cleared.
        fills.ForEach(fill => fill.Invalidate());
        services.Store.Remove(key);
    }

    /// <summary>Ends all fills and waits for them. The service has stopped taking requests.</summary>
    public async Task StopAsync()
    {
        List<Fill> active;
        lock (_lock)
        {
            active = [.. _active];
        }

        active.ForEach(fill => fill.Cancel());
        await Task.WhenAll(active.Select(fill => fill.Completion));
    }

    private void Remove(Fill fill)
    {
        lock (_lock)
        {
            _active.Remove(fill);
            if (_latest.TryGetValue(fill.Key, out Fill? latest) && ReferenceEquals(latest, fill))
            {
                _latest.Remove(fill.Key);
            }
        }
    }
}
