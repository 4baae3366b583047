namespace CachingService.Storage;

/// <summary>
/// One client's place in a body. Used by one request at a time; only <see cref="Position"/> is read from elsewhere. Holds the object
/// until disposed.
/// </summary>
/// <param name="source">The object, which has counted this reader already.</param>
/// <param name="progressed">Called after each step where a fill paces itself by its readers.</param>
internal sealed class ObjectReader(CachedObject source, Action? progressed) : IDisposable
{
    private Chunk? _chunk = source.Body.First;
    private int _offset;
    private long _position;

    public CachedObject Object => source;

    /// <summary>Bytes taken so far.</summary>
    public long Position => Volatile.Read(ref _position);

    /// <summary>Takes what is there, at most one chunk of it; false if there is nothing at the moment.</summary>
    public bool TryRead(out ReadOnlyMemory<byte> bytes)
    {
        bytes = default;
        while (_chunk is { } chunk)
        {
            // In this order: the length of a chunk that has a successor is final.
            var next = chunk.Next;
            bytes = chunk.From(_offset);
            if (!bytes.IsEmpty)
            {
                _offset += bytes.Length;
                Volatile.Write(ref _position, _position + bytes.Length);
                progressed?.Invoke();
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
            var changed = source.Body.NextChange;
            var end = source.Body.End;
            if (source.Body.Length > _position)
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
            source.CloseReader();
        }
    }
}
