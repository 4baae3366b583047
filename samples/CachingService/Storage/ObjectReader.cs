using IoUringCache.Transport;

namespace CachingService.Storage;

/// <summary>
/// One client's place in a body. Used by one request at a time; only <see cref="Position"/> is read from elsewhere. Holds the object
/// until disposed.
/// </summary>
internal sealed class ObjectReader : IDisposable
{
    private readonly CachedObject _source;
    private readonly Action? _progressed;
    private Chunk? _chunk;
    private ChangeWaiter? _waiter;
    private int _offset;
    private long _position;

    /// <summary>Opens a reader at byte 0.</summary>
    /// <param name="source">What to read.</param>
    /// <param name="progressed">Called after each step where a fill paces itself by its readers.</param>
    /// <exception cref="InvalidOperationException">The body has forgotten its start.</exception>
    public ObjectReader(CachedObject source, Action? progressed = null)
    {
        _source = source;
        _progressed = progressed;
        _chunk = source.Body.First;
        source.AddReader();
    }

    public CachedObject Object => _source;

    /// <summary>Bytes of the body's memory passed so far, frames included where it has them.</summary>
    public long Position => Volatile.Read(ref _position);

    /// <summary>Takes bytes of the body, at most one chunk of memory or one frame; false if there is nothing at the moment.</summary>
    public bool TryRead(out ReadOnlyMemory<byte> bytes)
    {
        if (!TryLook(out bytes))
        {
            return false;
        }

        int stored = bytes.Length;
        if (_source.Body.IsFramed)
        {
            bytes = ChunkFrame.BytesOfFirst(bytes);
            stored = bytes.Length + ChunkFrame.Overhead;
        }

        Pass(stored);
        return true;
    }

    /// <summary>
    /// Takes whole frames of a body that lies in them, at most one chunk of memory; false if there is nothing at the moment.
    /// </summary>
    public bool TryReadFrames(out ReadOnlyMemory<byte> frames)
    {
        if (!TryLook(out frames))
        {
            return false;
        }

        Pass(frames.Length);
        return true;
    }

    /// <summary>Waits until there may be something to read. False at the end of a complete body.</summary>
    /// <param name="scheduler">Where to go on; the same each time.</param>
    /// <param name="cancelled">Ends the wait, now or then; the same each time.</param>
    /// <exception cref="BrokenBodyException">The rest will never come.</exception>
    public ValueTask<bool> WaitToReadAsync(ConnectionScheduler scheduler, CancellationToken cancelled)
    {
        // Version first, end second, length third: whatever changes in between is seen by the next look.
        long version = _source.Body.Changes.Version;
        BodyEnd end = _source.Body.End;
        if (_source.Body.StoredLength > _position)
        {
            return new(true);
        }

        return end switch
        {
            BodyEnd.Complete => new(false),
            BodyEnd.Broken => ValueTask.FromException<bool>(new BrokenBodyException()),
            _ => Waiter(scheduler, cancelled).WaitAsync(version),
        };
    }

    /// <summary>Lets everybody else whose turn it is have theirs.</summary>
    /// <param name="scheduler">As for <see cref="WaitToReadAsync"/>.</param>
    /// <param name="cancelled">As for <see cref="WaitToReadAsync"/>.</param>
    public ValueTask<bool> YieldAsync(ConnectionScheduler scheduler, CancellationToken cancelled) => Waiter(scheduler, cancelled).YieldAsync();

    public void Dispose()
    {
        if (Interlocked.Exchange(ref _chunk, null) is not null)
        {
            _waiter?.Dispose();
            _source.RemoveReader();
        }
    }

    /// <summary>Made when first needed: who reads what is complete never waits.</summary>
    private ChangeWaiter Waiter(ConnectionScheduler scheduler, CancellationToken cancelled) =>
        _waiter ??= new(_source.Body.Changes, scheduler, cancelled);

    /// <summary>Finds the chunk with the next byte, and all of it that is there.</summary>
    private bool TryLook(out ReadOnlyMemory<byte> stored)
    {
        stored = default;
        while (_chunk is { } chunk)
        {
            // In this order: the length of a chunk that has a successor is final.
            Chunk? next = chunk.Next;
            stored = chunk.From(_offset);
            if (!stored.IsEmpty)
            {
                return true;
            }

            if (next is null)
            {
                return false;
            }

            (_chunk, _offset) = (next, 0);
        }

        return false;
    }

    private void Pass(int stored)
    {
        _offset += stored;
        Volatile.Write(ref _position, _position + stored);
        _progressed?.Invoke();
    }
}
