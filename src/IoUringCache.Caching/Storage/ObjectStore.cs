using System.Collections.Concurrent;
using System.Diagnostics.CodeAnalysis;
using IoUringCache.Caching.Http;

namespace IoUringCache.Caching.Storage;

/// <summary>
/// Complete objects by key and variant, within limits on their number, on their bytes and on the variants of a key. Look-ups take no lock;
/// changes take one. Any thread; one per service.
/// </summary>
/// <param name="maxObjects">Most objects; each variant is one.</param>
/// <param name="maxBytes">Most bytes, as the objects weigh themselves.</param>
/// <param name="maxVariants">Most objects of one key.</param>
internal sealed class ObjectStore(int maxObjects, long maxBytes, int maxVariants, MemoryLedger ledger)
{
    /// <summary>Bytes of an object besides body, fields, keys and tags, list nodes and index entry included, as measured.</summary>
    private const int Overhead = 800;

    /// <summary>Objects that whoever tidies up looks at while others wait for the lock.</summary>
    private const int SweepStep = 256;

    private readonly Lock _lock = new();
    private readonly ConcurrentDictionary<string, KeyEntry> _index = new(StringComparer.Ordinal);
    private readonly EvictionQueue<CachedObject> _queue = new();
    private readonly ExpiryOrder _expiries = new();
    private readonly ReclaimPass _reclaim = new();
    private readonly TagAccount _tags = new(TagKeeper.Store);
    private int _count;
    private long _inserted;
    private long _replaced;
    private long _removed;
    private long _evictions;
    private long _expired;
    private long _purged;
    private long _variantEvictions;

    /// <summary>Other limits from now on. What is above them is evicted at once.</summary>
    /// <param name="variants">Counts for a key when the next of them comes.</param>
    public void Limit(int objects, long bytes, int variants)
    {
        lock (_lock)
        {
            (maxObjects, maxBytes, maxVariants) = (objects, bytes, variants);
            EvictWhile(() => _count > maxObjects || ledger.StoredBytes > maxBytes);
        }
    }

    /// <summary>Told of what is evicted, replaced and removed.</summary>
    public ILowerTier? Below { get; init; }

    public int Count => Volatile.Read(ref _count);

    /// <summary>The tags of the stored objects. Their bytes are a part of the ledger's stored ones.</summary>
    public TagAccount Tags => _tags;

    /// <summary>
    /// Objects that were put in, confirmed ones anew. Without the evicted, expired, purged, replaced and removed ones, and those of too many
    /// variants, as many as there are.
    /// </summary>
    public long Inserted => Volatile.Read(ref _inserted);

    /// <summary>Objects whose place a newcomer of their key has taken, or they themselves, confirmed.</summary>
    public long Replaced => Volatile.Read(ref _replaced);

    /// <summary>Objects that were taken out by name: their key was purged or invalidated, or the origin has let go of them.</summary>
    public long Removed => Volatile.Read(ref _removed);

    public long Evictions => Volatile.Read(ref _evictions);

    /// <summary>Objects that the sweep has removed because their use had ended.</summary>
    public long Expired => Volatile.Read(ref _expired);

    /// <summary>Objects removed because a purge of everything or of a tag had made them useless.</summary>
    public long Purged => Volatile.Read(ref _purged);

    public long VariantEvictions => Volatile.Read(ref _variantEvictions);

    /// <summary>What the store will charge for an object whose body is complete, besides its tags, which it may share with others.</summary>
    public static long WeightOf(CachedObject entry) =>
        entry.Body.CapacityBytes + entry.Head.Bytes + (sizeof(char) * (entry.Key.Length + entry.VariantKey.Length)) + entry.Stamp.ListBytes + Overhead;

    /// <summary>Finds a fresh object that a request may have. The request is looked at only if responses of the key differ by it.</summary>
    public bool TryGet(string key, IHeaderDictionary request, [NotNullWhen(true)] out CachedObject? entry)
    {
        entry = Find(key, request);
        if (entry is not { IsFresh: true })
        {
            return false;
        }

        entry.MarkRead();
        return true;
    }

    /// <summary>What is stored for a request, fresh or not, without counting as a hit. What was purged is not found.</summary>
    public CachedObject? Find(string key, IHeaderDictionary request) =>
        _index.TryGetValue(key, out KeyEntry found) && found.Find(request) is { IsGone: false } entry ? entry : null;

    /// <summary>All that is stored under a key, fresh or not.</summary>
    public CachedObject[] FindAll(string key) => [.. AllOf(key).Where(static entry => !entry.IsGone)];

    /// <summary>How the responses of a key differ, as far as is known from those that are stored.</summary>
    public VaryRule VaryOf(string key) =>
        _index.TryGetValue(key, out KeyEntry found) && found.Variants is { } variants && FindAll(key).Length > 0 ? variants.Vary : VaryRule.None;

    /// <summary>All that is stored, fresh or not, the most requested first.</summary>
    public CachedObject[] MostRequestedFirst()
    {
        lock (_lock)
        {
            return _queue.MostRequestedFirst();
        }
    }

    /// <summary>
    /// Has the tier below list a copy of an object that stays here, unless the object is not stored any more. Under the lock: what removes the
    /// object from now on removes the copy too.
    /// </summary>
    /// <param name="entry">Found here before.</param>
    /// <param name="list">Lists the copy, if there is to be one; does not call the store.</param>
    /// <returns>The copy; <see langword="null"/> if there is none.</returns>
    public T? CopyBelow<T>(CachedObject entry, Func<CachedObject, T?> list)
        where T : class, ILowerCopy
    {
        lock (_lock)
        {
            return IsStored(entry) ? list(entry) : null;
        }
    }

    /// <summary>Removes what is stored under a key, in all its variants; those who read it finish.</summary>
    public PurgeReport Remove(string key)
    {
        lock (_lock)
        {
            CachedObject[] all = AllOf(key);
            int found = all.Count(static stored => !stored.IsGone);
            Array.ForEach(all, stored => Forget(stored, ref _removed));
            _index.TryRemove(key, out _);
            return new(found, Below?.Remove(key), Fills: 0);
        }
    }

    /// <summary>What is stored under a key, in all its variants, is stale from now on.</summary>
    public PurgeReport MakeStale(string key, PurgeMark purge)
    {
        lock (_lock)
        {
            CachedObject[] all = FindAll(key);
            Array.ForEach(all, stored => stored.MakeStale(purge));
            return new(all.Length, Below?.Remove(key), Fills: 0);
        }
    }

    /// <summary>A purge has made objects useless: they are not found any more, and leave with the next sweeps.</summary>
    public void StartReclaim()
    {
        // Whatever was added before this is met on the way; what is added after it has seen the purge.
        lock (_lock)
        {
            _reclaim.Start();
        }
    }

    /// <summary>Removes some of what has expired or was purged; true if there may be more.</summary>
    public bool Sweep()
    {
        lock (_lock)
        {
            int left = SweepStep;
            while (left > 0 && _expiries.First is { IsKept: false } useless)
            {
                Drop(useless, ref useless.IsGone ? ref _purged : ref _expired);
                left--;
            }

            _reclaim.LookAt(_expiries, left).ForEach(gone => Drop(gone, ref _purged));
            return left == 0 || _reclaim.IsRunning;
        }
    }

    /// <summary>
    /// Takes over a complete object from its fill, in the place of an older one of its key and variant, and evicts until the limits hold
    /// again. False, with the object left to its fill, if it alone is over the limit, if it was purged while it came, or if a later one is
    /// there already: bodies need not end in the order in which they began.
    /// </summary>
    public bool Add(CachedObject entry)
    {
        long weight = WeightOf(entry);
        lock (_lock)
        {
            if (entry.IsGone || AllOf(entry.Key).Any(stored => stored.VariantKey == entry.VariantKey && stored.IsLaterThan(entry)))
            {
                return false;
            }

            MakePlaceUnderKeyOf(entry);
            if (weight + entry.Stamp.TagBytes > maxBytes)
            {
                return false;
            }

            AddTags(entry);
            EvictWhile(() => _count >= maxObjects || ledger.StoredBytes + weight > maxBytes);
            entry.LeaveFill(Keeper.Store, weight);
            Insert(entry);
            return true;
        }
    }

    /// <summary>
    /// Puts what the origin has confirmed in the place of the earlier object with the same body. Nothing happens if that is not stored any
    /// more: who removed it knew of nothing newer.
    /// </summary>
    public void Replace(CachedObject earlier, CachedObject confirmed)
    {
        long weight = WeightOf(confirmed);
        lock (_lock)
        {
            if (!IsStored(earlier))
            {
                return;
            }

            long tagBytes = Withdraw(earlier);
            confirmed.InheritPurge(earlier);
            if (weight + confirmed.Stamp.TagBytes > maxBytes || confirmed.IsGone)
            {
                earlier.LeaveStore(tagBytes);
                _removed++;
                return;
            }

            _replaced++;

            MakePlaceUnderKeyOf(confirmed);
            AddTags(confirmed);
            confirmed.LeaveFill(Keeper.Store, weight);
            EvictWhile(() => ledger.StoredBytes > maxBytes);
            Insert(confirmed);
        }
    }

    /// <summary>Removes an object unless another one has taken its place; also where it was evicted, and the tier below has it.</summary>
    public void Remove(CachedObject entry)
    {
        lock (_lock)
        {
            bool isStored = IsStored(entry);
            if (isStored)
            {
                Drop(entry, ref _removed);
            }

            if (isStored || entry.Below?.IsThere == true)
            {
                Below?.Remove(entry.Key);
            }
        }
    }

    private bool IsStored(CachedObject entry) => AllOf(entry.Key).Contains(entry);

    /// <summary>First what is of no use any more, expired or purged, then what is asked for least.</summary>
    private void EvictWhile(Func<bool> isOverLimit)
    {
        if (isOverLimit())
        {
            // Of these as many as one may look at with others waiting; the sweep does the rest.
            _reclaim.LookAt(_expiries, SweepStep).ForEach(gone => Drop(gone, ref _purged));
        }

        while (isOverLimit())
        {
            CachedObject? victim = _expiries.First;
            if (victim is not { IsKept: false } && !_queue.TryTakeVictim(out victim))
            {
                return;
            }

            Drop(victim, ref _evictions);
            Below?.Demote(victim);
        }
    }

    private void Drop(CachedObject stored, ref long count)
    {
        stored.LeaveStore(Withdraw(stored));
        count++;
    }

    private void Insert(CachedObject entry)
    {
        _queue.Add(entry);
        _expiries.Add(entry);
        _count++;
        _inserted++;
        Index(entry.Key, [.. AllOf(entry.Key), entry]);
    }

    /// <summary>Before room is made: a victim then frees nothing that the newcomer has as well.</summary>
    private void AddTags(CachedObject entry) => ledger.AddStored(_tags.Add(entry.Stamp));

    /// <summary>Out of everything; its bytes are the caller's business.</summary>
    /// <returns>Bytes of the tags that no other stored object has, which are no longer counted.</returns>
    private long Withdraw(CachedObject entry)
    {
        long tagBytes = Unlist(entry);
        Index(entry.Key, [.. AllOf(entry.Key).Where(other => other != entry)]);
        return tagBytes;
    }

    /// <summary>Out of everything but the index; returns what <see cref="Withdraw"/> does.</summary>
    private long Unlist(CachedObject entry)
    {
        _queue.Remove(entry);
        _expiries.Remove(entry);
        _count--;
        long tagBytes = _tags.Remove(entry.Stamp);
        ledger.AddStored(-tagBytes);
        return tagBytes;
    }

    /// <summary>
    /// Out go the older one of the same variant; what is of no use and differs by other fields than the newcomer, and would only make
    /// look-ups longer; and the oldest, if there are still too many.
    /// </summary>
    private void MakePlaceUnderKeyOf(CachedObject newcomer)
    {
        Below?.Supersede(newcomer);
        List<CachedObject> kept = new();
        foreach (CachedObject stored in AllOf(newcomer.Key))
        {
            if (stored.VariantKey == newcomer.VariantKey || (!stored.IsKept && !stored.Verdict.Vary.Equals(newcomer.Verdict.Vary)))
            {
                Forget(stored, ref _replaced);
            }
            else
            {
                kept.Add(stored);
            }
        }

        int tooMany = Math.Max(0, kept.Count + 1 - maxVariants);
        kept[..tooMany].ForEach(stored => Forget(stored, ref _variantEvictions));
        Index(newcomer.Key, [.. kept[tooMany..]]);
    }

    private CachedObject[] AllOf(string key) => _index.TryGetValue(key, out KeyEntry found) ? found.All : [];

    private void Index(string key, CachedObject[] all)
    {
        if (all.Length == 0)
        {
            _index.TryRemove(key, out _);
        }
        else
        {
            _index[key] = KeyEntry.Of(all);
        }
    }

    /// <summary>Leaves the index to the caller.</summary>
    private void Forget(CachedObject stored, ref long count)
    {
        stored.LeaveStore(Unlist(stored));
        count++;
    }
}

/// <summary>
/// What is stored under one key: one response for everybody, which most keys have and which is found without a look at the request's
/// fields, or several variants. Exactly one of the two is set. Immutable.
/// </summary>
internal readonly record struct KeyEntry(CachedObject? ForAll, VariantSet? Variants)
{
    /// <summary>In the order in which they were stored.</summary>
    public CachedObject[] All => Variants?.All ?? [ForAll!];

    /// <param name="all">One or more, the one stored last at the end.</param>
    public static KeyEntry Of(CachedObject[] all) => all is [{ VariantKey: "" } single] ? new(single, null) : new(null, new(all));

    /// <summary>What a request may have, fresh or not.</summary>
    public CachedObject? Find(IHeaderDictionary request) => ForAll ?? Variants!.Find(request);
}
