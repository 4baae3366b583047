using IoUringCache.Caching.Storage;

namespace IoUringCache.Caching.Filling;

/// <summary>
/// One request among those that a fill serves, as the fill sees it. Guarded by the fill's lock, except <see cref="TryCut"/>, which only
/// the fill's own task calls, and <see cref="Reader"/>, which never changes after the fill's headers have told the request of it.
/// </summary>
internal sealed class FillMember(ReaderRole role, Action cut)
{
    public ReaderRole Role => role;

    /// <summary>Number of purges when it joined.</summary>
    public long Epoch { get; init; }

    /// <summary>The place in the body, once the headers say that it is shared.</summary>
    public ObjectReader? Reader { get; private set; }

    /// <summary>It needs no more of the body. Until it leaves, a body that can be stored is received all the same.</summary>
    public bool IsDone => Reader is { IsDisposed: true };

    /// <summary>Bytes of the body taken; 0 before the headers.</summary>
    public long Position => Reader?.Position ?? 0;

    /// <summary>Gives it its place at the start of a body.</summary>
    public void Attach(CachedObject received, Action progressed) => Reader = new(received, progressed, cut);

    /// <summary>
    /// Ends the client's answer visibly, because it fell out of the window. False if it has left since somebody looked, because its
    /// connection may be at the next request, or if it has been told before.
    /// </summary>
    public bool TryCut() => Reader is { } reader && reader.Object.TryCut(reader);
}

/// <summary>How a request came to its fill.</summary>
internal enum ReaderRole
{
    /// <summary>Its miss started the fill.</summary>
    Leader,

    /// <summary>It waits or waited for the headers with the leader.</summary>
    Collapsed,

    /// <summary>It came after the headers.</summary>
    InFlight,
}

/// <summary>Answer to a request that wants to join a fill.</summary>
internal enum JoinOutcome
{
    Joined,

    /// <summary>The fill takes nobody any more, or has a response that does not suit the request: look again, or start another.</summary>
    Closed,

    /// <summary>The fill has all the readers that it may have.</summary>
    Full,
}
