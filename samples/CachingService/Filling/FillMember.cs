using CachingService.Storage;

namespace CachingService.Filling;

/// <summary>
/// One request among those that a fill serves, as the fill sees it. Guarded by the fill's lock, except <see cref="TryCut"/>, which only
/// the fill's own task calls, and <see cref="Reader"/>, which never changes after the fill's headers have told the request of it.
/// </summary>
internal sealed class FillMember(ReaderRole role, Action cut)
{
    private bool _isCut;

    public ReaderRole Role => role;

    /// <summary>The place in the body, once the headers say that it is shared.</summary>
    public ObjectReader? Reader { get; private set; }

    /// <summary>Bytes of the body taken; 0 before the headers.</summary>
    public long Position => Reader?.Position ?? 0;

    public void Attach(ObjectReader reader) => Reader = reader;

    /// <summary>Ends the client's answer visibly, because it fell out of the window. False if it has been told before.</summary>
    public bool TryCut()
    {
        if (_isCut)
        {
            return false;
        }

        _isCut = true;
        cut();
        return true;
    }
}
