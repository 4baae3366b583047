using System.Diagnostics.CodeAnalysis;

namespace IoUringCache.Transport.Internal.Buffers;

/// <summary>
/// What a pool keeps of one kind. The last that came is the first to go, since a cache of the processor may have it.
/// Owned by its pool, and guarded by that pool's lock.
/// </summary>
/// <param name="limit">Most that are kept; the collector has the others.</param>
internal sealed class Shelf<T>(int limit)
    where T : class
{
    private readonly Stack<T> _kept = new();

    /// <summary>The lowest count since the last trim: these were not needed.</summary>
    private int _minCount;

    internal int Count => _kept.Count;

    internal bool TryTake([NotNullWhen(true)] out T? item)
    {
        if (!_kept.TryPop(out item))
        {
            return false;
        }

        _minCount = Math.Min(_minCount, _kept.Count);
        return true;
    }

    internal void Put(T item)
    {
        if (_kept.Count < limit)
        {
            _kept.Push(item);
        }
    }

    /// <summary>Drops what was not needed since the last call.</summary>
    internal void Trim()
    {
        for (; _minCount > 0; _minCount--)
        {
            _kept.Pop();
        }

        _minCount = _kept.Count;
    }
}
