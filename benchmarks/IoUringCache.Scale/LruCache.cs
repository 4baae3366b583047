namespace IoUringCache.Scale;

/// <summary>Which of the last objects a node still has. One thread.</summary>
internal sealed class LruCache(int capacity)
{
    private readonly Dictionary<int, LinkedListNode<int>> _index = [];
    private readonly LinkedList<int> _order = new();

    /// <summary>Asks for an object, which is there afterwards. True if it was before.</summary>
    public bool Ask(int key)
    {
        if (_index.TryGetValue(key, out LinkedListNode<int>? found))
        {
            _order.Remove(found);
            _order.AddFirst(found);
            return true;
        }

        if (_index.Count == capacity)
        {
            LinkedListNode<int> last = _order.Last!;
            _index.Remove(last.Value);
            _order.Remove(last);
        }

        _index[key] = _order.AddFirst(key);
        return false;
    }
}
