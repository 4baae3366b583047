namespace IoUringCache.Caching.Storage;

/// <summary>Stored objects by the end of their use. Not thread-safe: the store calls it under its lock.</summary>
internal sealed class ExpiryOrder
{
    private static readonly Entry s_end = new(new(long.MaxValue, long.MaxValue), null!);

    private readonly SortedSet<Entry> _order = new(Comparer<Entry>.Create(static (one, other) => one.Rank.CompareTo(other.Rank)));

    /// <summary>Tells those apart that end together; from 1.</summary>
    private readonly Dictionary<CachedObject, long> _numbers = [];
    private long _added;

    /// <summary>The object whose use ends first; <see langword="null"/> if there is none.</summary>
    public CachedObject? First => _order.Min.Stored;

    public void Add(CachedObject stored)
    {
        _numbers.Add(stored, ++_added);
        _order.Add(new(new(stored.KeptUntil, _added), stored));
    }

    public void Remove(CachedObject stored)
    {
        _numbers.Remove(stored, out long number);
        _order.Remove(new(new(stored.KeptUntil, number), stored));
    }

    /// <summary>The next objects behind a rank, which moves on behind them; fewer than asked for at the end.</summary>
    /// <param name="rank">The default for the start. It stays one though what was there has gone.</param>
    public List<CachedObject> After(ref Rank rank, int most)
    {
        List<CachedObject> next = new(Math.Min(most, _order.Count));
        Rank first = new(rank.KeptUntil, rank.Number + 1);
        foreach (Entry entry in _order.GetViewBetween(new(rank.Number == 0 ? new(long.MinValue, 0) : first, null!), s_end).Take(most))
        {
            next.Add(entry.Stored);
            rank = entry.Rank;
        }

        return next;
    }

    /// <summary>Where an object stands.</summary>
    internal readonly record struct Rank(long KeptUntil, long Number) : IComparable<Rank>
    {
        public int CompareTo(Rank other) => (KeptUntil, Number).CompareTo((other.KeptUntil, other.Number));
    }

    private readonly record struct Entry(Rank Rank, CachedObject Stored);
}
