namespace CachingService.Storage;

/// <summary>Stored objects by the end of their use. Not thread-safe: the store calls it under its lock.</summary>
internal sealed class ExpiryOrder
{
    private readonly SortedSet<Entry> _order = new(Comparer<Entry>.Create(
        static (one, other) => (one.KeptUntil, one.Number).CompareTo((other.KeptUntil, other.Number))));

    /// <summary>Tells those apart that end together.</summary>
    private readonly Dictionary<CachedObject, long> _numbers = [];
    private long _added;

    /// <summary>The object whose use ends first; <see langword="null"/> if there is none.</summary>
    public CachedObject? First => _order.Min.Stored;

    public void Add(CachedObject stored)
    {
        _numbers.Add(stored, _added);
        _order.Add(new(stored.KeptUntil, _added++, stored));
    }

    public void Remove(CachedObject stored)
    {
        _numbers.Remove(stored, out long number);
        _order.Remove(new(stored.KeptUntil, number, stored));
    }

    private readonly record struct Entry(long KeptUntil, long Number, CachedObject Stored);
}
