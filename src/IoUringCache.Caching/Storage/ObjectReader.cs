using IoUringCache.Transport;

namespace IoUringCache.Caching.Storage;

/// <summary>
/// One client's place in a body. Used by one request at a time; only <see cref="Position"/> and <see cref="IsDisposed"/> are read from elsewhere. Holds the object
/// until disposed.
/// </summary>
internal class ObjectReader : ReaderLink, IDisposable
{
    private readonly CachedObject _source;
    private readonly Action? _progressed;
    private readonly Action? _cut;
    private Chunk? _chunk;
    private ChangeWaiter? _waiter;
    private int _offset;
    private long _position;

    /// <summary>Bytes of the body passed, without frames; and of these, those of a frame that is not passed yet. Not kept for whole frames.</summary>
    private long _bodyPosition;
    private int _frameOffset;

    /// <param name="progressed">Called after each step, the end included, where a fill paces itself by its readers.</param>
    /// <param name="cut">Ends the client's answer visibly, where that is known here.</param>
    /// <exception cref="InvalidOperationException">The body has forgotten its start.</exception>
    public ObjectReader(CachedObject source, Action? progressed = null, Action? cut = null)
    {
        _source = source;
        _progressed = progressed;
        _cut = cut;
        _chunk = source.Body.First;
        source.AddReader(this);
    }

    public CachedObject Object => _source;

    /// <summary>Bytes of the body's memory passed so far, frames included where it has them.</summary>
    public override long Position => Volatile.Read(ref _position);

    /// <summary>Whether its client needs no more of the body. Any thread.</summary>
    public bool IsDisposed => Volatile.Read(ref _chunk) is null;

    /// <summary>Whether nothing is to be read at the moment, and more will come.</summary>
    public bool IsAtLiveEnd => _source.Body is { End: BodyEnd.Growing } body && body.StoredLength == _position;

    /// <summary>Takes bytes of the body, at most one chunk of memory or one frame; false if there is nothing at the moment.</summary>
    public bool TryRead(long limit, out ReadOnlyMemory<byte> bytes)
    {
        if (!TryLook(out bytes) || limit == 0)
        {
            return false;
        }

        if (_source.Body.IsFramed)
        {
            ReadOnlyMemory<byte> frame = ChunkFrame.BytesOfFirst(bytes);
            bytes = frame[_frameOffset..];
            bytes = bytes[..(int)Math.Min(bytes.Length, limit)];
            _bodyPosition += bytes.Length;
            _frameOffset += bytes.Length;
            if (_frameOffset == frame.Length)
            {
                _frameOffset = 0;
                Pass(frame.Length + ChunkFrame.Overhead);
            }
        }
        else
        {
            bytes = bytes[..(int)Math.Min(bytes.Length, limit)];
            _bodyPosition += bytes.Length;
            Pass(bytes.Length);
        }

        return true;
    }

    /// <summary>
    /// Goes to a byte of the body, or as far towards it as there are bytes. True when it is the next to be read. Back only in a body that
    /// is whole; not after <see cref="TryReadFrames"/>.
    /// </summary>
    public bool TrySkipTo(long bodyPosition)
    {
        if (bodyPosition < _bodyPosition)
        {
            (_chunk, _offset, _frameOffset, _bodyPosition) = (_source.Body.First, 0, 0, 0);
            Volatile.Write(ref _position, 0);
        }

        // A chunk that has a successor is full: whole chunks are passed without a look at their frames.
        while (_chunk is { Next: { } next } chunk && next.Start <= bodyPosition)
        {
            Pass(chunk.Length - _offset);
            (_chunk, _offset, _frameOffset, _bodyPosition) = (next, 0, 0, next.Start);
        }

        while (_bodyPosition < bodyPosition && TryRead(bodyPosition - _bodyPosition, out _))
        {
        }

        return _bodyPosition == bodyPosition;
    }

    /// <summary>Takes whole frames of a body that lies in them, at most one chunk of memory; false if there is nothing at the moment.</summary>
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
    public ValueTask<bool> WaitToReadAsync(IConnectionSchedulerFeature scheduler, CancellationToken cancelled)
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
    /// <param name="behind">Who decides when its turn comes again, and runs it there.</param>
    public ValueTask<bool> YieldAsync(IConnectionSchedulerFeature scheduler, IConnectionSchedulerFeature behind, CancellationToken cancelled) =>
        Waiter(scheduler, cancelled).YieldAsync(behind);

    public void Dispose()
    {
        if (Interlocked.Exchange(ref _chunk, null) is not null)
        {
            _waiter?.Dispose();
            _source.RemoveReader(this);
            _progressed?.Invoke();
        }
    }

    protected override void Cut() => _cut?.Invoke();

    /// <summary>Made when first needed: who reads what is complete never waits.</summary>
    private ChangeWaiter Waiter(IConnectionSchedulerFeature scheduler, CancellationToken cancelled) =>
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
