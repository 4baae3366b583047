using IoUringCache.Caching.Http;

namespace IoUringCache.Caching.Storage;

/// <summary>
/// One response that several clients may have: head, body and freshness. Kept by its fill, then perhaps by the store, and by every
/// reader; its bytes leave the ledger with the last of them. Any thread.
/// </summary>
internal sealed class CachedObject : IEvictable<CachedObject>
{
    /// <summary>Ticks of the clock that can be added to any that it will ever show.</summary>
    private const double FarAway = long.MaxValue / 2;

    private readonly BodyAccount _account;
    private readonly TimeProvider _time;
    private readonly long _receivedAt;

    // Out of the verdict, which is large: a hit looks at these alone.
    private readonly TimeSpan _initialAge;
    private readonly TimeSpan _lifetime;
    private long _heldOffUntil = long.MinValue;
    private PurgeMark? _softPurge;

    /// <summary>Made by the fill when the headers have come.</summary>
    /// <param name="key">Raw bytes after <c>/object/</c>.</param>
    /// <param name="head">What everybody may have of the head.</param>
    /// <param name="time">Clock of its age from here on (<c>resident_time</c>).</param>
    public CachedObject(string key, ResponseHead head, SharingVerdict verdict, MemoryLedger ledger, TimeProvider time)
        : this(key, head, verdict, new BodyAccount(new(head.ContentLength, ledger.Bodies), ledger), time)
    {
    }

    private CachedObject(string key, ResponseHead head, SharingVerdict verdict, BodyAccount account, TimeProvider time)
    {
        (Key, Head, Verdict, _account, _time) = (key, head, verdict, account, time);
        Validators = new(head);
        Slices = SliceMark.Of(head);
        (_initialAge, _lifetime) = (verdict.InitialAge, verdict.Lifetime);
        ReceivedAt = _receivedAt = time.GetTimestamp();
        KeptUntil = After(verdict.Lifetime - verdict.InitialAge + verdict.KeptFor);
    }

    public string Key { get; }

    public ResponseHead Head { get; }

    public Validators Validators { get; }

    /// <summary>Where this is the first slice of a larger body; <see langword="null"/> for a whole one.</summary>
    public SliceMark? Slices { get; }

    public SharingVerdict Verdict { get; }

    /// <summary>The secondary key of its fill (<see cref="VaryRule.KeyOf(IReadOnlyList{HeaderField})"/>); empty if it suits every request.</summary>
    public string VariantKey { get; init; } = "";

    /// <summary>What the tier below has of it: set where it comes from there, and by that tier under its lock when it is written there.</summary>
    public ILowerCopy? Below { get; set; }

    /// <summary>What tells whether a purge concerns it.</summary>
    public PurgeStamp Stamp { get; init; }

    /// <summary>
    /// Time stamp of its clock at which the origin sent or confirmed it. Before this object was made, if it is made of what was stored: that is no
    /// newer for being read.
    /// </summary>
    public long ReceivedAt { get; init; }

    public ObjectBody Body => _account.Body;

    /// <summary>Length of the whole body in bytes, as soon as it is known.</summary>
    public long? KnownLength => Head.ContentLength ?? (Body.End == BodyEnd.Complete ? Body.Length : null);

    /// <summary>Bytes still to come; at most, where the length is not known.</summary>
    /// <param name="most">Length at which it would be too large.</param>
    public long MissingBytes(long most) => (Head.ContentLength ?? most) - Body.Length;

    /// <summary>Bytes that this object costs, together with all that share its body. Zero until its fill has ended.</summary>
    public long Weight => _account.Weight;

    /// <summary>Time since the origin made the response, as far as we know (RFC 9111 4.2.3).</summary>
    public TimeSpan Age => _initialAge + _time.GetElapsedTime(_receivedAt);

    /// <summary>Freshness left; zero or less when stale.</summary>
    public TimeSpan TimeToLive => LifetimeNow - Age;

    /// <summary>Good without asking the origin.</summary>
    public bool IsFresh => !Stamp.IsInDoubt && TimeToLive > TimeSpan.Zero;

    /// <summary>Whether a request has the fields by which this response was chosen.</summary>
    public bool Suits(IHeaderDictionary request) => Verdict.Vary.KeyOf(request) == VariantKey;

    /// <summary>
    /// Of two that suit a request: the fresh one, then the one that is of use yet, then the one made later, then the one that came later.
    /// </summary>
    public bool IsPreferableTo(CachedObject other) =>
        (IsFresh, IsKept, Validators.Made, ReceivedAt).CompareTo((other.IsFresh, other.IsKept, other.Validators.Made, other.ReceivedAt)) > 0;

    /// <summary>Whether the origin sent or confirmed it after the other one, as far as we know.</summary>
    public bool IsLaterThan(CachedObject other) => ReceivedAt > other.ReceivedAt;

    /// <summary>Time stamp of its clock from which on it is of no use to anybody, fresh or stale.</summary>
    public long KeptUntil { get; }

    public bool IsKept => !IsGone && _time.GetTimestamp() < KeptUntil;

    /// <summary>Purged hard: nobody may have it but those who are reading it.</summary>
    public bool IsGone => Stamp.IsGone;

    /// <summary>False if no lifetime allows a client to have it stale: it was purged hard, or may have been.</summary>
    public bool MayBeStale => !IsGone && !Stamp.IsInDoubt;

    /// <summary>Stale by its lifetime and by no purge, and the origin can be asked whether it is still good.</summary>
    public bool IsWorthValidating => IsKept && MayBeStale && Validators.CanBeValidated && SoftPurge is null;

    /// <summary>Stale or not, may be served while it is being validated (RFC 5861 3).</summary>
    public bool MayPrecedeValidation => MayBeStale && Verdict.StaleWhileRevalidate + TimeToLive > TimeSpan.Zero;

    /// <summary>Stale or not, may be served in the place of an error (RFC 5861 4): also what may be served before the error is known.</summary>
    public bool MayStandIn => MayBeStale && (MayPrecedeValidation || Verdict.StaleIfError + TimeToLive > TimeSpan.Zero);

    /// <summary>The origin failed to validate it just now, and is left alone for a while.</summary>
    public bool IsHeldOff => _time.GetTimestamp() < Volatile.Read(ref _heldOffUntil);

    public int KeyHash => HashCode.Combine(Key.GetHashCode(StringComparison.Ordinal), VariantKey.GetHashCode(StringComparison.Ordinal));

    public int Reads { get; set; }

    public LinkedListNode<CachedObject>? Place { get; set; }

    /// <summary>The origin has confirmed the same bytes: an object of now, with another head. This one stays as it is for its readers.</summary>
    /// <param name="variantKey">Of the request that was confirmed.</param>
    /// <param name="stamp">From before the origin was asked.</param>
    public CachedObject Confirm(ResponseHead head, SharingVerdict verdict, string variantKey, PurgeStamp stamp) =>
        new(Key, head, verdict, _account, _time) { VariantKey = variantKey, Stamp = stamp };

    /// <summary>A soft purge of its key, unless the origin was asked for it later. Under the store's lock.</summary>
    public void MakeStale(PurgeMark purge)
    {
        if (purge.Epoch > Stamp.Epoch)
        {
            Volatile.Write(ref _softPurge, purge);
        }
    }

    /// <summary>
    /// A soft purge of the key that has come between the question to the origin and its confirmation concerns that too. Under the store's
    /// lock, which the purge takes as well: so none is missed.
    /// </summary>
    public void InheritPurge(CachedObject earlier)
    {
        if (earlier._softPurge is { } purge)
        {
            MakeStale(purge);
        }
    }

    /// <summary>The origin has failed: it is not asked about this object for some time.</summary>
    public void HoldOff(TimeSpan span) => Volatile.Write(ref _heldOffUntil, After(_time.GetElapsedTime(_receivedAt) + span));

    /// <summary>Notes a hit, for the eviction queue.</summary>
    public void MarkRead()
    {
        // Look first: the line of a popular object then stays shared between the cores.
        if (Reads < IEvictable<CachedObject>.MostReads)
        {
            Reads++;
        }
    }

    public void AddReader(ReaderLink reader) => _account.AddReader(reader);

    public void RemoveReader(ReaderLink reader) => _account.RemoveReader(reader);

    /// <summary>Ends a reader's answer visibly; false if it has left, or was cut before.</summary>
    public bool TryCut(ReaderLink reader) => _account.TryCut(reader);

    /// <summary>
    /// The fill has ended and its bytes are known: they are the store's now, or its readers' alone. Or the store has this object in the
    /// place of one with the same body.
    /// </summary>
    public void LeaveFill(Keeper keeper, long weight) => _account.MoveTo(keeper, weight);

    /// <summary>Evicted, replaced, purged or expired.</summary>
    /// <param name="tagBytes">Bytes of the tags that no stored object has any more: its readers keep them.</param>
    public void LeaveStore(long tagBytes) => _account.MoveTo(Keeper.Nobody, Weight + tagBytes);

    /// <summary>Of its key, of one of its tags or of everything; <see langword="null"/> if there was none.</summary>
    private PurgeMark? SoftPurge => PurgeStamp.Later(Volatile.Read(ref _softPurge), Stamp.SoftPurge);

    /// <summary>It ends with a soft purge, where it has not ended before: what may be done with it stale then counts from there.</summary>
    private TimeSpan LifetimeNow
    {
        get
        {
            if (SoftPurge is not { } purge)
            {
                return _lifetime;
            }

            TimeSpan age = _initialAge + _time.GetElapsedTime(_receivedAt, purge.Time);
            return age < _lifetime ? age : _lifetime;
        }
    }

    /// <summary>What an Expires of the year 9999 means is more than a clock in nanoseconds can count: it then means for ever.</summary>
    private long After(TimeSpan span) =>
        _receivedAt + (long)Math.Clamp(span.TotalSeconds * _time.TimestampFrequency, -FarAway, FarAway);
}

/// <summary>The copy of an object in the tier below. Any thread.</summary>
internal interface ILowerCopy
{
    /// <summary>Whether it is still there, or on its way there.</summary>
    bool IsThere { get; }

    /// <inheritdoc cref="CachedObject.ReceivedAt"/>
    /// <remarks>The earliest of all where an earlier process has written it.</remarks>
    long ReceivedAt { get; }
}
