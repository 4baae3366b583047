using IoUringCache.Caching.Storage;

namespace IoUringCache.Caching.Disk;

/// <summary>Copies a whole body out of memory, from front to back. Used by one at a time.</summary>
internal sealed class BodyCursor(ObjectBody body) : IDisposable
{
    private readonly IEnumerator<ReadOnlyMemory<byte>> _pieces = body.Pieces.GetEnumerator();
    private ReadOnlyMemory<byte> _rest;

    /// <summary>Fills a span with the next bytes. There are as many: the body is whole.</summary>
    public void Read(Span<byte> target)
    {
        while (!target.IsEmpty)
        {
            if (_rest.IsEmpty)
            {
                _pieces.MoveNext();
                _rest = _pieces.Current;
            }

            int count = Math.Min(_rest.Length, target.Length);
            _rest.Span[..count].CopyTo(target);
            _rest = _rest[count..];
            target = target[count..];
        }
    }

    public void Dispose() => _pieces.Dispose();
}
