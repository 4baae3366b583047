using CachingService.Origins;

namespace CachingService.Filling;

/// <summary>
/// The fills in flight: at most one per key takes readers. Hits do not come here. Any thread; one per service. Its lock may be held when
/// a fill's or the store's lock is taken, never the other way round.
/// </summary>
internal sealed class FillTable(FillServices services)
{
    private readonly Lock _lock = new();

    /// <summary>Fills that requests may join.</summary>
    private readonly Dictionary<string, Fill> _open = new(StringComparer.Ordinal);

    /// <summary>All fills that have not ended, closed ones included.</summary>
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
        FillReader? reader;
        lock (_lock)
        {
            if (_open.TryGetValue(key, out var running)
                && running.TryJoin(isLeader: false, cut, out reader) is var outcome and not JoinOutcome.Closed)
            {
                return outcome == JoinOutcome.Joined ? new(null, reader, null) : new(null, null, "too-many-readers");
            }

            // A fill may have completed since the caller looked.
            if (services.Store.TryGet(key, out var stored))
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

            fill = new(makeRequest(), services, this);
            fill.TryJoin(isLeader: true, cut, out reader);
            _open[key] = fill;
            _active.Add(fill);
        }

        fill.Start();
        return new(null, reader, null);
    }

    /// <summary>Joins a fill in flight for its headers, if there is one.</summary>
    public FillReader? TryJoin(string key, Action cut)
    {
        lock (_lock)
        {
            return _open.TryGetValue(key, out var fill) && fill.TryJoin(isLeader: false, cut, out var reader) == JoinOutcome.Joined
                ? reader
                : null;
        }
    }

    /// <summary>No new readers for this fill.</summary>
    public void Close(Fill fill)
    {
        lock (_lock)
        {
            CloseLocked(fill);
        }
    }

    /// <summary>The fill has ended.</summary>
    public void Remove(Fill fill)
    {
        lock (_lock)
        {
            CloseLocked(fill);
            _active.Remove(fill);
        }
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

    private void CloseLocked(Fill fill)
    {
        // A newer fill of the same key may have taken the place of one that had become stale.
        if (_open.TryGetValue(fill.Key, out var open) && ReferenceEquals(open, fill))
        {
            _open.Remove(fill.Key);
        }
    }
}
