namespace IoUringCache.Caching.Storage;

/// <summary>Those who read one object, in no order. Guarded by the object's lock.</summary>
internal sealed class ReaderList
{
    private ReaderLink? _first;

    public int Count { get; private set; }

    public void Add(ReaderLink reader)
    {
        reader.Next = _first;
        _first?.Previous = reader;
        _first = reader;
        reader.IsListed = true;
        Count++;
    }

    public void Remove(ReaderLink reader)
    {
        reader.Next?.Previous = reader.Previous;
        if (reader.Previous is { } previous)
        {
            previous.Next = reader.Next;
        }
        else
        {
            _first = reader.Next;
        }

        (reader.Next, reader.Previous, reader.IsListed) = (null, null, false);
        Count--;
    }

    /// <summary>All of them now.</summary>
    public IEnumerable<ReaderLink> All
    {
        get
        {
            for (ReaderLink? reader = _first; reader is not null; reader = reader.Next)
            {
                yield return reader;
            }
        }
    }
}
