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
