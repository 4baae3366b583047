using IoUringCache.Caching.Http;
using IoUringCache.Caching.Load;
using IoUringCache.Caching.Storage;

namespace IoUringCache.Caching.Filling;

/// <summary>
/// The fills in flight: at most one per key and variant takes readers. Hits do not come here. Any thread; one per service. Its lock may be
/// held when a fill's or the store's lock is taken, never the other way round.
/// </summary>
internal sealed class FillTable(FillServices services)
{
    private readonly Lock _lock = new();

    /// <summary>
    /// How the responses of keys differ by fields that a fetch would leave out: also of keys of which nothing is stored, whose fetches would
    /// otherwise be for nothing each time.
    /// </summary>
    private readonly KeyMemory<VaryRule> _varies = new(() => services.Options.MaxMarkers);

    private readonly Dictionary<string, KeyFills> _byKey = new(StringComparer.Ordinal);
    private int _activeCount;

    /// <summary>Where fills wait for their turn.</summary>
    public FillQueue Queue { get; } = new(services.Live, services.Ledger, services.Time);

    /// <summary>Those under way, and those that wait.</summary>
    public int ActiveCount
    {
        get
        {
            lock (_lock)
            {
                return _activeCount;
            }
        }
    }

    /// <summary>Hit, join or create: the one place where the three meet.</summary>
    public Lookup JoinOrCreate(MissedRequest miss)
    {
        Fill? fill;
        FillMember? member = null;
        lock (_lock)
        {
            KeyFills fills = FillsOf(miss.Key);
            if (TryServeStale(miss, fills) is { } stale)
            {
                return new() { Hit = stale };
            }

            Fill? running = miss.Joins ? fills.Find(miss.Fields) : null;
            switch (running?.TryJoin(isLeader: false, miss.Fields, miss.Cut, out member))
            {
                case JoinOutcome.Joined:
                    return new() { Reader = new(running, member!) };
                case JoinOutcome.Full:
                    return new() { Overload = "too-many-readers" };
            }

            // A fill may have completed since the caller looked.
            if (services.Store.TryGet(miss.Key, miss.Fields, out CachedObject? stored)
                && miss.Asked?.Permit(stored.Age, stored.TimeToLive, mayBeStale: false) != false)
            {
                return new() { Hit = stored };
            }

            if (TryTakePlace(miss, mayWait: true, out string? overload) is not { } place)
            {
                return new() { Overload = overload };
            }

            fill = Create(miss, fills, place);
            if (fill is null)
            {
                return new() { Refusal = FetchFields.Refusal };
            }

            fill.TryJoin(isLeader: true, miss.Fields, miss.Cut, out member);
        }

        fill.Start();
        return new() { Reader = new(fill, member!) };
    }

    /// <summary>
    /// For a request with credentials: a fill that no other request joins, and that ignores what is stored. It does not wait in the queue.
    /// <see langword="null"/> if it can only pass, because of its fields or of a limit.
    /// </summary>
    public FillReader? CreateForOneClient(MissedRequest miss)
    {
        Fill fill;
        FillMember? member;
        lock (_lock)
        {
            if (TryTakePlace(miss, mayWait: false, out _) is not { } place || Create(miss, FillsOf(miss.Key), place) is not { } created)
            {
                return null;
            }

            fill = created;
            fill.TryJoin(isLeader: true, miss.Fields, miss.Cut, out member);
        }

        fill.Start();
        return new(fill, member!);
    }

    /// <summary>
    /// What is stored under a key is removed, and what is being received for it is not stored, in all variants: readers finish, and the
    /// next request starts a new fill.
    /// </summary>
    public PurgeReport Invalidate(string key) => Clear(key, isSoft: false, services.Store.Remove);

    /// <summary>The same, but what is stored stays, stale from now on.</summary>
    public PurgeReport MakeStale(string key)
    {
        PurgeMark purge = services.Purges.CountOne();
        return Clear(key, isSoft: true, stored => services.Store.MakeStale(stored, purge));
    }

    /// <summary>There was a purge that may concern any fill: those that nobody reads end, if it does.</summary>
    public void Reconsider() => All().ForEach(fill => fill.Reconsider());

    public List<FillReport> Describe() => All().ConvertAll(fill => fill.Describe());

    public List<FillReport> Describe(string key) => Of(key).ConvertAll(fill => fill.Describe());

    /// <summary>Ends all fills and waits for them. The service has stopped taking requests.</summary>
    public async Task StopAsync()
    {
        List<Fill> active = All();
        active.ForEach(fill => fill.Cancel());
        await Task.WhenAll(active.Select(fill => fill.Completion));
    }

    /// <remarks>
    /// Twice: a fill that begins between the two steps of the first time may find on the disk what has not gone from there yet. By the second
    /// time nobody finds that any more, and such a fill is in the table, or its object in the store.
    /// </remarks>
    private PurgeReport Clear(string key, bool isSoft, Func<string, PurgeReport> clearStore)
    {
        PurgeReport cleared = ClearOnce();
        ClearOnce();
        return cleared;

        PurgeReport ClearOnce()
        {
            int fills = InvalidateFills(key, isSoft);
            services.Markers.Drop(key);
            return clearStore(key) with { Fills = fills };
        }
    }

    /// <summary>Before the store: a fill that completes in between is in it by the time that it is cleared.</summary>
    /// <returns>How many would have been stored, or may have been.</returns>
    private int InvalidateFills(string key, bool isSoft)
    {
        List<Fill> running = Of(key);
        int count = running.Count(fill => !fill.IsOutdated);
        running.ForEach(fill => fill.Invalidate(isSoft));
        return count;
    }

    /// <summary>The fills of a key now. One that begins after this sees what the origin has then.</summary>
    private List<Fill> Of(string key)
    {
        lock (_lock)
        {
            return _byKey.TryGetValue(key, out KeyFills? running) ? [.. running.All] : [];
        }
    }

    private List<Fill> All()
    {
        lock (_lock)
        {
            return [.. _byKey.Values.SelectMany(fills => fills.All)];
        }
    }

    private void Learn(Fill fill, VaryRule vary)
    {
        if (services.Options.FetchFields.AreExtendedBy(vary))
        {
            _varies.Set(fill.Key, vary);
        }

        lock (_lock)
        {
            _byKey[fill.Key].Learn(vary);
        }
    }

    /// <summary>
    /// What is stale and may be served without waiting: while a fill that nobody waits for validates it (RFC 5861 3), or while the origin,
    /// which has failed just now, is not to be asked again. Such a fill does not wait in the queue: the next request starts it.
    /// </summary>
    private CachedObject? TryServeStale(MissedRequest miss, KeyFills fills)
    {
        if (miss.Asked is not null
            || services.Store.Find(miss.Key, miss.Fields) is not { IsFresh: false } stored
            || !(stored.MayPrecedeValidation || (stored.IsHeldOff && stored.MayStandIn)))
        {
            return null;
        }

        if (!stored.IsHeldOff && fills.Find(miss.Fields) is null or { IsOutdated: true } && TryTakePlace(miss, mayWait: false, out _) is { } place)
        {
            Create(miss, fills, place)?.Start();
        }

        return stored;
    }

    /// <summary>Of a key without a fill they are new, and in the table only when the first is created.</summary>
    private KeyFills FillsOf(string key) => _byKey.GetValueOrDefault(key) ?? new(VaryOf(key));

    private VaryRule VaryOf(string key) =>
        services.Store.VaryOf(key) is var stored && !stored.Equals(VaryRule.None) ? stored : _varies.Find(key) ?? VaryRule.None;

    /// <summary>A place for a fill, or in the queue; <see langword="null"/> if a limit refuses both.</summary>
    private FillPlace? TryTakePlace(MissedRequest miss, bool mayWait, out string? overload)
    {
        overload = LoadGauge.Detail;
        bool isOnDisk = miss.Asked is null && services.Disk?.MayHave(miss.Key) == true;
        return miss.Load >= LoadStep.NoNewFills ? null : Queue.Enter(isOnDisk ? null : miss.Address.Route.Origin, mayWait, out overload);
    }

    /// <summary>A fill for a request, to be started; <see langword="null"/> if it can only go alone, and needs no place.</summary>
    private Fill? Create(MissedRequest miss, KeyFills fills, FillPlace place)
    {
        CachedObject? stored = services.Store.Find(miss.Key, miss.Fields);

        // What is stored is asked about by the fields by which it was chosen, though the latest response names others.
        if (miss.MakeRequest([fills.Vary, miss.Learned, stored?.Verdict.Vary ?? VaryRule.None]) is not { } request)
        {
            place.Leave();
            return null;
        }

        bool hasVariants = !fills.Vary.Equals(VaryRule.None) && (fills.All.Count > 0 || !services.Store.VaryOf(miss.Key).Equals(VaryRule.None));
        bool isVaryMiss = stored is null && hasVariants && fills.Find(miss.Fields) is null;
        CachedObject? earlier = stored is { IsKept: true } && request.Slice is not { IsFirst: false } ? stored : null;
        Predecessor predecessor = request.Credentials is null
            ? new(earlier, isVaryMiss, mayBePromoted: miss.Asked is null, request, services)
            : new(stored: null, isVaryMiss: false, mayBePromoted: false, request, services);
        Fill fill = new(request, predecessor, place, services, Learn, Remove);
        fills.Add(fill);
        _byKey[miss.Key] = fills;
        _activeCount++;
        return fill;
    }

    private void Remove(Fill fill)
    {
        lock (_lock)
        {
            KeyFills fills = _byKey[fill.Key];
            fills.Remove(fill);
            _activeCount--;
            if (fills.All.Count == 0)
            {
                _byKey.Remove(fill.Key);
            }
        }
    }
}

/// <summary>The outcome of a look-up; exactly one of the four is set. Immutable.</summary>
internal readonly record struct Lookup
{
    /// <summary>Stored, and fresh or allowed to be stale.</summary>
    public CachedObject? Hit { get; init; }

    /// <summary>Joined a fill, or started one (see its role).</summary>
    public FillReader? Reader { get; init; }

    /// <summary>The cap that was reached, as a Cache-Status detail.</summary>
    public string? Overload { get; init; }

    /// <summary>Why the request must go to the origin alone, as a Cache-Status detail.</summary>
    public string? Refusal { get; init; }
}
