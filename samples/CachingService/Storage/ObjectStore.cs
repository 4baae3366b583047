using System.Collections.Concurrent;
using System.Diagnostics.CodeAnalysis;

namespace CachingService.Storage;

/// <summary>
/// Complete objects by key, within limits on their number and on their bytes. Look-ups take no lock; changes take one. Any thread; one
/// per service.
/// </summary>
/// <param name="maxObjects">Most objects.</param>
/// <param name="maxBytes">Most bytes, as the objects weigh themselves.</param>
/// <param name="ledger">Told of what comes and goes.</param>
internal sealed class ObjectStore(int maxObjects, long maxBytes, MemoryLedger ledger)
{
    /// <summary>Estimate of what an object costs besides its body, headers and key: its own fields, list nodes and index entry.</summary>
    private const int Overhead = 512;

    private readonly Lock _lock = new();
    private readonly ConcurrentDictionary<string, CachedObject> _index = new(StringComparer.Ordinal);
    private readonly EvictionQueue _queue = new();
    private long _evictions;

    public int Count => _index.Count;

    public long Evictions => Volatile.Read(ref _evictions);

    /// <summary>What the store will charge for an object whose body is complete.</summary>
    public static long WeightOf(CachedObject entry) =>
        entry.Body.CapacityBytes + entry.Head.Bytes + (sizeof(char) * entry.Key.Length) + Overhead;

    /// <summary>Finds a fresh object.</summary>
    public bool TryGet(string key, [NotNullWhen(true)] out CachedObject? entry)
    {
        if (!_index.TryGetValue(key, out entry) || !entry.IsFresh)
        {
            return false;
        }

        entry.MarkRead();
        return true;
    }

    /// <summary>What is stored under a key, fresh or not, without counting as a hit.</summary>
    public CachedObject? Peek(string key) => _index.GetValueOrDefault(key);

    /// <summary>Removes what is stored under a key; those who read it finish.</summary>
    public void Remove(string key)
    {
        lock (_lock)
        {
            Forget(key);
        }
    }

    /// <summary>
    /// Takes over a complete object from its fill, in the place of an older one with its key, and evicts until the limits hold again.
    /// False, with the object left to its fill, if it alone is over the limit.
    /// </summary>
    public bool Add(CachedObject entry)
    {
        long weight = WeightOf(entry);
        lock (_lock)
        {
            Forget(entry.Key);
            if (weight > maxBytes)
            {
                return false;
            }

            while ((_index.Count >= maxObjects || ledger.StoredBytes + weight > maxBytes) && _queue.TryTakeVictim(out CachedObject? victim))
            {
                _index.TryRemove(victim!.Key, out _);
                victim.LeaveStore();
                _evictions++;
            }

            entry.LeaveFill(Keeper.Store, weight);
            _queue.Add(entry);
            _index[entry.Key] = entry;
            return true;
        }
    }

    private void Forget(string key)
    {
        if (_index.TryRemove(key, out CachedObject? stored))
        {
            _queue.Remove(stored);
            stored.LeaveStore();
        }
    }
}
