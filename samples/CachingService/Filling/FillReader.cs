using CachingService.Origins;
using CachingService.Storage;

namespace CachingService.Filling;

/// <summary>
/// One request's membership in a fill. Used by its request; the fill attaches the object and may cut a laggard, both from its own
/// thread. Disposing leaves the fill, which goes on or ends without it.
/// </summary>
internal sealed class FillReader(Fill fill, ReaderRole role, Action cut) : IDisposable
{
    private ObjectReader? _reader;
    private bool _isCut;

    public ReaderRole Role => role;

    /// <summary>What became of the request to the origin. Never faults.</summary>
    public Task<FillHeaders> Headers => fill.Headers;

    /// <summary>The place in the body, once the headers say that it is shared.</summary>
    public ObjectReader Reader => _reader ?? throw new InvalidOperationException("The headers have not come.");

    /// <summary>Bytes of the body taken; 0 before the headers.</summary>
    public long Position => _reader?.Position ?? 0;

    /// <summary>The leader's claim on a response that nobody else may have; <see langword="null"/> for everybody else.</summary>
    public OriginResponse? TakeResponse() => role == ReaderRole.Leader ? fill.TakeResponse() : null;

    /// <summary>Fill only, under its lock.</summary>
    public void Attach(ObjectReader reader) => _reader = reader;

    /// <summary>Fill only: the reader has fallen out of the window. False if it has been told before.</summary>
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

    public void Dispose()
    {
        fill.Leave(this);
        _reader?.Dispose();
    }
}
