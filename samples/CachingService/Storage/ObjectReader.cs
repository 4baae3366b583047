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

    /// <summary>Bytes taken so far.</summary>
    public long Position => Volatile.Read(ref _position);

    /// <summary>Takes what is there, at most one chunk of it; false if there is nothing at the moment.</summary>
    public bool TryRead(out ReadOnlyMemory<byte> bytes)
    {
        bytes = default;
        while (_chunk is { } chunk)
        {
            // In this order: the length of a chunk that has a successor is final.
            Chunk? next = chunk.Next;
            bytes = chunk.From(_offset);
            if (!bytes.IsEmpty)
            {
                _offset += bytes.Length;
                Volatile.Write(ref _position, _position + bytes.Length);
                _progressed?.Invoke();
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

    /// <summary>Waits for something to read. False at the end of a complete body.</summary>
    /// <exception cref="BrokenBodyException">The rest will never come.</exception>
    public async ValueTask<bool> WaitToReadAsync(CancellationToken cancellationToken)
    {
        while (true)
        {
            // Signal first, end second, length third: whatever changes in between is seen by the next look.
            Task changed = _source.Body.NextChange;
            BodyEnd end = _source.Body.End;
            if (_source.Body.Length > _position)
            {
                return true;
            }

            switch (end)
            {
                case BodyEnd.Complete:
                    return false;
                case BodyEnd.Broken:
                    throw new BrokenBodyException();
            }

            await changed.WaitAsync(cancellationToken);
        }
    }

    public void Dispose()
    {
        if (Interlocked.Exchange(ref _chunk, null) is not null)
        {
            _source.RemoveReader();
        }
    }
}
