namespace IoUringCache.Caching.Storage;

/// <summary>
/// A body, and what its bytes cost in the ledger, whoever keeps them. One for all objects that share the body, so that an object which is
/// only confirmed by the origin costs nothing twice, and who still reads the earlier one pins nothing that the store has. Any thread.
/// </summary>
internal sealed class BodyAccount(ObjectBody body, MemoryLedger ledger) : IPinned
{
    private readonly Lock _lock = new();
    private readonly ReaderList _readers = new();
    private Keeper _keeper = Keeper.Writer;

    public ObjectBody Body => body;

    /// <summary>Bytes; zero until the fill has ended.</summary>
    public long Weight { get; private set; }

    private long StoredShare => _keeper == Keeper.Store ? Weight : 0;

    private bool IsPinned => _keeper == Keeper.Nobody && _readers.Count > 0;

    public void AddReader(ReaderLink reader)
    {
        lock (_lock)
        {
            _readers.Add(reader);
            if (IsPinned)
            {
                ledger.Pinned.Add(this);
            }
        }
    }

    public void RemoveReader(ReaderLink reader)
    {
        lock (_lock)
        {
            _readers.Remove(reader);
            if (_keeper == Keeper.Nobody && _readers.Count == 0)
            {
                ledger.Pinned.Remove(this);
            }
        }
    }

    /// <summary>The bytes, as many as they are now, are somebody else's, or still the same one's.</summary>
    public void MoveTo(Keeper keeper, long weight)
    {
        lock (_lock)
        {
            if (IsPinned)
            {
                // With the weight under which it was added.
                ledger.Pinned.Remove(this);
            }

            long stored = StoredShare;
            (_keeper, Weight) = (keeper, weight);
            ledger.AddStored(StoredShare - stored);
            if (IsPinned)
            {
                ledger.Pinned.Add(this);
            }
        }
    }

    public List<PinnedReader> GetReaders()
    {
        lock (_lock)
        {
            return [.. _readers.All.Where(reader => !reader.IsCut).Select(reader => new PinnedReader(reader, body.StoredLength - reader.Position))];
        }
    }

    public bool TryCut(ReaderLink reader)
    {
        // Under the lock, under which it would leave: what is cut is the answer that it reads for, and not the connection's next one.
        lock (_lock)
        {
            return reader.IsListed && reader.TryCut();
        }
    }
}

/// <summary>
/// Who keeps an object besides its readers.
/// <code>
///   Writer --complete, storable--> Store --evicted, replaced, expired, purged--> Nobody
///     |                                                                            ^
///     +--failed, too large, lifetime zero----------------------------------+
/// </code>
/// </summary>
internal enum Keeper
{
    /// <summary>The fill that receives it.</summary>
    Writer,
    Store,
    Nobody,
}
