using Microsoft.AspNetCore.Connections.Features;

namespace IoUringCache.Caching.Serving;

/// <summary>
/// How many bytes of a response its client has taken. A flush that ends says only that the kernel's buffer has room, which it says in steps of
/// up to a megabyte; so what the client has taken from the kernel counts. Over HTTP/1.x, where the connection is the response's alone, that is all
/// that it takes; over HTTP/2 the response's part: what has been flushed of it, and is with the kernel, leaves as all of the connection's bytes
/// there do. Guarded by its owner's lock.
/// </summary>
/// <param name="isShared">Whether the connection carries other responses as well.</param>
internal sealed class ClientProgress(IConnectionSocketFeature? connection, bool isShared)
{
    private readonly SendQueue _queue = new(connection);
    private long _flushed;
    private long _flushedOfRange;
    private long _taken;
    private bool _hasLooked;

    /// <summary>Whether the connection is shared, and the kernel held bytes of this response at the last look: nothing sent now would reach the client.</summary>
    public bool IsStuck { get; private set; }

    /// <summary>What the client has taken: of the response, or of all that the connection has had if it has it alone.</summary>
    public long TakenBytes => isShared ? _taken : _queue.TakenBytes;

    /// <param name="bytes">Since the start of the response, or of one of its ranges: less than before is the start of another.</param>
    public void Flushed(long bytes)
    {
        _flushed += bytes >= _flushedOfRange ? bytes - _flushedOfRange : bytes;
        _flushedOfRange = bytes;
    }

    /// <summary>Bytes taken since the last look. Asks the kernel.</summary>
    /// <returns><see langword="null"/> if the client has taken all that there was to take, so that it is not the client that is waited for.</returns>
    public long? Look()
    {
        long queued = _queue.Look(out long taken);
        if (!isShared)
        {
            return queued == 0 ? null : taken;
        }

        long own = PartOf(taken, queued);
        _taken += own;
        _hasLooked = true;
        IsStuck = _flushed > _taken;
        return own;
    }

    /// <summary>What of the connection's bytes is this response's. The first time nothing is known but that it has no more with the kernel than all.</summary>
    private long PartOf(long taken, long queued)
    {
        long untaken = _flushed - _taken;
        if (!_hasLooked || queued == 0)
        {
            return Math.Max(0, untaken - queued);
        }

        // Rounded up, so that nothing is left in the end.
        return (long)Math.Ceiling(untaken * ((double)taken / (taken + queued)));
    }
}
