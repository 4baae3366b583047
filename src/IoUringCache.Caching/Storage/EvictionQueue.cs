using System.Diagnostics.CodeAnalysis;

namespace IoUringCache.Caching.Storage;

/// <summary>
/// Order of eviction: S3-FIFO (Yang et al., SOSP 2023) by weight. Newcomers wait in a small queue; who was read there goes on to the main
/// one, who was not is dropped, and only its key is remembered. So what is asked for once, a scan of everything included, passes
/// through a tenth of the bytes. In the main queue each read buys another round. A hit counts and moves nothing, so it needs no lock.
/// <code>
///   Add --------> small --unread--> victim, key to the ghosts
///    |              | read
///    | key is       v
///    | a ghost    main --unread--> victim
///    +----------->  ^ | read: one read less
///                   +-+
/// </code>
/// Not thread-safe: the store calls it under its lock.
/// </summary>
internal sealed class EvictionQueue<T>
    where T : class, IEvictable<T>
{
    private const int SmallDivisor = 10;

    /// <summary>Of these the oldest goes, read or not: where everything is popular, nobody may hold the lock to find the least.</summary>
    private const int MostRounds = 1000;

    private readonly WeighedQueue<T> _small = new();
    private readonly WeighedQueue<T> _main = new();
    private readonly GhostQueue _ghosts = new();

    public void Add(T entry) => (_ghosts.Remove(entry.KeyHash) ? _main : _small).Add(entry);

    /// <summary>
    /// Takes out what was invalidated or replaced. Its key is remembered if it had proved popular, so that its successor need not prove it
    /// again. Nothing happens if it is not there, as a victim is not any more.
    /// </summary>
    public void Remove(T entry)
    {
        if (entry.Place is null)
        {
            return;
        }

        WeighedQueue<T> queue = _main.Has(entry) ? _main : _small;
        if (queue == _main || entry.Reads > 0)
        {
            Remember(entry);
        }

        queue.Remove(entry);
    }

    /// <summary>
    /// All that are there, the most requested first: the main queue, whose entries have proved it, then the small one. In each those with the
    /// most reads come first, and of those with the same number the newest.
    /// </summary>
    public T[] MostRequestedFirst() =>
    [
        .. _main.NewestFirst.OrderByDescending(static entry => entry.Reads),
        .. _small.NewestFirst.OrderByDescending(static entry => entry.Reads),
    ];

    /// <summary>Takes out the next victim; false if there is none.</summary>
    public bool TryTakeVictim([NotNullWhen(true)] out T? victim)
    {
        for (int round = 1; ; round++)
        {
            bool isFromSmall = _main.Count == 0 || _small.Bytes > (_small.Bytes + _main.Bytes) / SmallDivisor;
            victim = (isFromSmall ? _small : _main).TakeOldest();
            if (victim is { Reads: > 0 } && round < MostRounds)
            {
                // From the small queue it begins anew: its reads have bought the way.
                victim.Reads = isFromSmall ? 0 : victim.Reads - 1;
                _main.Add(victim);
                continue;
            }

            if (victim is not null && isFromSmall)
            {
                Remember(victim);
            }

            return victim is not null;
        }
    }

    private void Remember(T entry) => _ghosts.Add(entry.KeyHash, capacity: _small.Count + _main.Count);
}

/// <summary>First in, first out, with the sum of the weights. Not thread-safe.</summary>
internal sealed class WeighedQueue<T>
    where T : class, IEvictable<T>
{
    private readonly LinkedList<T> _entries = new();

    public int Count => _entries.Count;

    /// <summary>What all entries weigh.</summary>
    public long Bytes { get; private set; }

    public IEnumerable<T> NewestFirst => _entries.Reverse();

    public bool Has(T entry) => entry.Place?.List == _entries;

    public void Add(T entry)
    {
        entry.Place = _entries.AddLast(entry);
        Bytes += entry.Weight;
    }

    public void Remove(T entry)
    {
        _entries.Remove(entry.Place!);
        entry.Place = null;
        Bytes -= entry.Weight;
    }

    /// <summary>Takes out the first; <see langword="null"/> if there is none.</summary>
    public T? TakeOldest()
    {
        T? oldest = _entries.First?.Value;
        if (oldest is not null)
        {
            Remove(oldest);
        }

        return oldest;
    }
}

/// <summary>Hashes of keys that were dropped not long ago, oldest first out. Not thread-safe.</summary>
internal sealed class GhostQueue
{
    /// <summary>Remembered in any case: with few large objects a ghost for each would forget at once.</summary>
    private const int SmallestCapacity = 1024;

    private readonly Queue<(int Hash, long Number)> _order = new();

    /// <summary>The latest number of each hash. What is in the queue under another one has been taken out, or come again.</summary>
    private readonly Dictionary<int, long> _numbers = [];
    private long _next;

    public void Add(int hash, int capacity)
    {
        _order.Enqueue((hash, _next));
        _numbers[hash] = _next++;
        while (_order.Count > Math.Max(capacity, SmallestCapacity))
        {
            (int oldest, long number) = _order.Dequeue();
            if (_numbers.GetValueOrDefault(oldest, -1) == number)
            {
                _numbers.Remove(oldest);
            }
        }
    }

    /// <summary>Forgets a hash; false if it is not known.</summary>
    public bool Remove(int hash) => _numbers.Remove(hash);
}

/// <summary>What the eviction queue must know of an entry. All but <see cref="Reads"/> is guarded by the lock of the queue's owner.</summary>
/// <typeparam name="T">The entry itself.</typeparam>
internal interface IEvictable<T>
{
    /// <summary>Most that <see cref="Reads"/> counts to: who was read three times is popular.</summary>
    const int MostReads = 3;

    /// <summary>What it costs, in bytes. Does not change while it is in the queue.</summary>
    long Weight { get; }

    /// <summary>Of its key, seeded per process. Two keys with the same one cost a guess, nothing more.</summary>
    int KeyHash { get; }

    /// <summary>Reads since it was last passed over, at most <see cref="MostReads"/>. Any thread; a lost update does no harm.</summary>
    int Reads { get; set; }

    /// <summary>The queue's own mark; <see langword="null"/> outside.</summary>
    LinkedListNode<T>? Place { get; set; }
}
