namespace CachingService.Storage;

/// <summary>
/// Order of eviction: first in, first out, with a second chance for what was read in the meantime, so that a hit moves nothing. Not
/// thread-safe: the store calls it under its lock.
/// </summary>
internal sealed class EvictionQueue
{
    private readonly LinkedList<CachedObject> _queue = new();
    private readonly Dictionary<CachedObject, LinkedListNode<CachedObject>> _nodes = [];

    public void Add(CachedObject entry) => _nodes.Add(entry, _queue.AddLast(entry));

    public void Remove(CachedObject entry)
    {
        if (_nodes.Remove(entry, out LinkedListNode<CachedObject>? node))
        {
            _queue.Remove(node);
        }
    }

    /// <summary>Takes out the next victim. Ends, because every second chance is used up by being given.</summary>
    public bool TryTakeVictim(out CachedObject? victim)
    {
        while (_queue.First is { } oldest)
        {
            _queue.Remove(oldest);
            if (oldest.Value.IsFresh && oldest.Value.TakeWasRead())
            {
                _queue.AddLast(oldest);
                continue;
            }

            _nodes.Remove(victim = oldest.Value);
            return true;
        }

        victim = null;
        return false;
    }
}
