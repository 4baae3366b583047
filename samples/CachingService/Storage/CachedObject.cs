using CachingService.Http;

namespace CachingService.Storage;

/// <summary>
/// One response that several clients may have: head, body and freshness. Kept by its fill, then perhaps by the store, and by every
/// reader; its bytes leave the ledger with the last of them. Any thread.
/// </summary>
internal sealed class CachedObject
{
    private readonly Lock _lock = new();
    private readonly MemoryLedger _ledger;
    private readonly TimeProvider _time;
    private readonly long _receivedAt;
    private Keeper _keeper = Keeper.Writer;
    private int _readers;
    private bool _wasRead;

    /// <summary>Made by the fill when the headers have come.</summary>
    /// <param name="key">Raw bytes after <c>/object/</c>.</param>
    /// <param name="head">What everybody may have of the head.</param>
    /// <param name="verdict">How old it is already, and how old it may become.</param>
    /// <param name="ledger">Told of the bytes.</param>
    /// <param name="time">Clock of its age from here on (<c>resident_time</c>).</param>
    public CachedObject(string key, ResponseHead head, SharingVerdict verdict, MemoryLedger ledger, TimeProvider time)
    {
        Key = key;
        Head = head;
        Validators = new(head);
        Verdict = verdict;
        Body = new(head.ContentLength);
        _ledger = ledger;
        _time = time;
        _receivedAt = time.GetTimestamp();
    }

    public string Key { get; }

    public ResponseHead Head { get; }

    public Validators Validators { get; }

    public SharingVerdict Verdict { get; }

    public ObjectBody Body { get; }

    /// <summary>Length of the whole body in bytes, as soon as it is known.</summary>
    public long? KnownLength => Head.ContentLength ?? (Body.End == BodyEnd.Complete ? Body.Length : null);

    /// <summary>Bytes that this object costs. Zero until its fill has ended.</summary>
    public long Weight { get; private set; }

    /// <summary>Time since the origin made the response, as far as we know (RFC 9111 4.2.3).</summary>
    public TimeSpan Age => Verdict.InitialAge + _time.GetElapsedTime(_receivedAt);

    /// <summary>Freshness left; zero or less when stale.</summary>
    public TimeSpan TimeToLive => Verdict.Lifetime - Age;

    public bool IsFresh => TimeToLive > TimeSpan.Zero;

    /// <summary>Notes a hit, for the eviction queue.</summary>
    public void MarkRead()
    {
        // Look first: the line of a popular object then stays shared between the cores.
        if (!_wasRead)
        {
            _wasRead = true;
        }
    }

    /// <summary>True if there was a hit since the last call.</summary>
    public bool TakeWasRead() => Interlocked.Exchange(ref _wasRead, false);

    /// <summary>A reader comes.</summary>
    public void AddReader()
    {
        lock (_lock)
        {
            _readers++;
            PinIfOnlyReadersKeepIt(+1);
        }
    }

    /// <summary>A reader leaves.</summary>
    public void RemoveReader()
    {
        lock (_lock)
        {
            PinIfOnlyReadersKeepIt(-1);
            _readers--;
        }
    }

    /// <summary>The fill has ended and its bytes are known: they are the store's now, or its readers' alone.</summary>
    public void LeaveFill(Keeper keeper, long weight)
    {
        lock (_lock)
        {
            Weight = weight;
            MoveTo(keeper);
        }
    }

    /// <summary>Evicted, replaced or expired.</summary>
    public void LeaveStore()
    {
        lock (_lock)
        {
            MoveTo(Keeper.Nobody);
        }
    }

    private void MoveTo(Keeper keeper)
    {
        _ledger.AddStored((keeper == Keeper.Store ? Weight : 0) - (_keeper == Keeper.Store ? Weight : 0));
        _keeper = keeper;
        if (keeper == Keeper.Nobody && _readers > 0)
        {
            _ledger.AddPinned(Weight);
        }
    }

    /// <summary>With nobody else keeping the object, its first reader's coming and its last one's leaving change the ledger.</summary>
    private void PinIfOnlyReadersKeepIt(int sign)
    {
        if (_keeper == Keeper.Nobody && _readers == 1)
        {
            _ledger.AddPinned(sign * Weight);
        }
    }
}
