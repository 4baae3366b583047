namespace IoUringCache.Caching.Storage;

/// <summary>
/// One who reads an object, as the object sees it: an element of its <see cref="ReaderList"/>, so that to be found costs a hit no memory.
/// Links and flags are guarded by the object's lock.
/// </summary>
internal abstract class ReaderLink
{
    /// <summary>Bytes of the body's memory passed. Any thread.</summary>
    public abstract long Position { get; }

    internal ReaderLink? Next { get; set; }

    internal ReaderLink? Previous { get; set; }

    /// <summary>Whether it is in the list, and so has not left.</summary>
    internal bool IsListed { get; set; }

    /// <summary>Whether it has been told to leave.</summary>
    internal bool IsCut { get; private set; }

    /// <summary>Ends the client's answer visibly, upon which it leaves soon. False if it has been told before.</summary>
    internal bool TryCut()
    {
        if (IsCut)
        {
            return false;
        }

        IsCut = true;
        Cut();
        return true;
    }

    /// <summary>Must not run the client's code, because the caller holds a lock.</summary>
    protected abstract void Cut();
}

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
