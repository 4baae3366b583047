using System.Collections.Concurrent;
using System.Diagnostics.CodeAnalysis;
using CachingService.Http;

namespace CachingService.Storage;

/// <summary>
/// Complete objects by key and variant, within limits on their number, on their bytes and on the variants of a key. Look-ups take no lock;
/// changes take one. Any thread; one per service.
/// </summary>
/// <param name="maxObjects">Most objects; each variant is one.</param>
/// <param name="maxBytes">Most bytes, as the objects weigh themselves.</param>
/// <param name="maxVariants">Most objects of one key.</param>
/// <param name="ledger">Told of what comes and goes.</param>
internal sealed class ObjectStore(int maxObjects, long maxBytes, int maxVariants, MemoryLedger ledger)
{
    /// <summary>What an object costs besides its body, fields and keys, list nodes and index entry included, as measured.</summary>
    private const int Overhead = 800;

    private readonly Lock _lock = new();
    private readonly ConcurrentDictionary<string, KeyEntry> _index = new(StringComparer.Ordinal);
    private readonly EvictionQueue<CachedObject> _queue = new();
    private readonly ExpiryOrder _expiries = new();
    private int _count;
    private long _evictions;
    private long _variantEvictions;

    /// <summary>Told of what is evicted, replaced and removed.</summary>
    public ILowerTier? Below { get; init; }

    public int Count => Volatile.Read(ref _count);

    public long Evictions => Volatile.Read(ref _evictions);

    /// <summary>Objects that went because their key had too many variants.</summary>
    public long VariantEvictions => Volatile.Read(ref _variantEvictions);

    /// <summary>What the store will charge for an object whose body is complete.</summary>
    public static long WeightOf(CachedObject entry) =>
        entry.Body.CapacityBytes + entry.Head.Bytes + (sizeof(char) * (entry.Key.Length + entry.VariantKey.Length)) + Overhead;

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

    /// <summary>What is stored for a request, fresh or not, without counting as a hit.</summary>
    public CachedObject? Find(string key, IHeaderDictionary request) =>
        _index.TryGetValue(key, out KeyEntry found) ? found.Find(request) : null;

    /// <summary>How the responses of a key differ, as far as is known from those that are stored.</summary>
    public VaryRule VaryOf(string key) =>
        _index.TryGetValue(key, out KeyEntry found) && found.Variants is { } variants ? variants.Vary : VaryRule.None;

    /// <summary>Removes what is stored under a key, in all its variants; those who read it finish.</summary>
    public void Remove(string key)
    {
        lock (_lock)
        {
            foreach (CachedObject stored in AllOf(key))
            {
                Forget(stored);
            }

            _index.TryRemove(key, out _);
            Below?.Remove(key);
        }
    }

    /// <summary>
    /// Takes over a complete object from its fill, in the place of an older one of its key and variant, and evicts until the limits hold
    /// again. False, with the object left to its fill, if it alone is over the limit, or if a later one is there already: bodies need not
    /// end in the order in which they began.
    /// </summary>
    public bool Add(CachedObject entry)
    {
        long weight = WeightOf(entry);
        lock (_lock)
        {
            if (AllOf(entry.Key).Any(stored => stored.VariantKey == entry.VariantKey && stored.IsLaterThan(entry)))
            {
                return false;
            }

            MakePlaceUnderKeyOf(entry);
            if (weight > maxBytes)
            {
                return false;
            }

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

            Withdraw(earlier);
            if (weight > maxBytes)
            {
                earlier.LeaveStore();
                return;
            }

            MakePlaceUnderKeyOf(confirmed);
            confirmed.LeaveFill(Keeper.Store, weight);
            EvictWhile(() => ledger.StoredBytes > maxBytes);
            Insert(confirmed);
        }
    }

    /// <summary>Removes an object unless another one has taken its place.</summary>
    public void Remove(CachedObject entry)
    {
        lock (_lock)
        {
            if (IsStored(entry))
            {
                Withdraw(entry);
                entry.LeaveStore();
                Below?.Remove(entry.Key);
            }
        }
    }

    private bool IsStored(CachedObject entry) => AllOf(entry.Key).Contains(entry);

    /// <summary>First what is of no use any more, then what is asked for least.</summary>
    private void EvictWhile(Func<bool> isOverLimit)
    {
        while (isOverLimit())
        {
            CachedObject? victim = _expiries.First;
            if (victim is not { IsKept: false } && !_queue.TryTakeVictim(out victim))
            {
                return;
            }

            Withdraw(victim);
            victim.LeaveStore();
            Below?.Demote(victim);
            _evictions++;
        }
    }

    private void Insert(CachedObject entry)
    {
        _queue.Add(entry);
        _expiries.Add(entry);
        _count++;
        Index(entry.Key, [.. AllOf(entry.Key), entry]);
    }

    /// <summary>Out of everything; its bytes are the caller's business.</summary>
    private void Withdraw(CachedObject entry)
    {
        Unlist(entry);
        Index(entry.Key, [.. AllOf(entry.Key).Where(other => other != entry)]);
    }

    /// <summary>Out of everything but the index.</summary>
    private void Unlist(CachedObject entry)
    {
        _queue.Remove(entry);
        _expiries.Remove(entry);
        _count--;
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
                Forget(stored);
            }
            else
            {
                kept.Add(stored);
            }
        }

        int tooMany = Math.Max(0, kept.Count + 1 - maxVariants);
        kept[..tooMany].ForEach(Forget);
        _variantEvictions += tooMany;
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
    private void Forget(CachedObject stored)
    {
        Unlist(stored);
        stored.LeaveStore();
    }
}
