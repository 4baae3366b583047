namespace IoUringCache.Eviction;

/// <summary>
/// SIEVE (Zhang et al., NSDI 2024): a hand goes from the oldest entry to the newest, takes the mark of those that were hit, and evicts the
/// first that has none. What is kept stays where it is, so newcomers are sifted first.
/// </summary>
internal sealed class Sieve : IEvictionOrder
{
    private readonly LinkedList<Entry> _entries = new();
    private LinkedListNode<Entry>? _hand;

    public void Add(Entry entry) => entry.Place = _entries.AddLast(entry);

    public void Hit(Entry entry) => entry.Reads = 1;

    public Entry TakeVictim()
    {
        LinkedListNode<Entry> candidate = _hand ?? _entries.First!;
        while (candidate.Value.Reads > 0)
        {
            candidate.Value.Reads = 0;
            candidate = candidate.Next ?? _entries.First!;
        }

        _hand = candidate.Next;
        _entries.Remove(candidate);
        return candidate.Value;
    }
}
