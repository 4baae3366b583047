namespace IoUringCache.Transport.Internal.Pipes;

/// <summary>
/// A piece of written data in pinned memory. Owner: the writer while the application fills it, the writer's queue when flushed, the one
/// send in flight from its submission to its final completion (also when it was cancelled), then the pool.
/// </summary>
internal sealed class SendSegment(int size)
{
    private readonly byte[] _array = GC.AllocateUninitializedArray<byte>(size, pinned: true);
    private int _start;
    private int _end;

    internal SendSegment? Next { get; set; }

    internal int Capacity => _array.Length;

    internal int FreeLength => _array.Length - _end;

    internal int Length => _end - _start;

    internal Memory<byte> FreeMemory => _array.AsMemory(_end);

    internal Span<byte> FreeSpan => _array.AsSpan(_end);

    internal ReadOnlyMemory<byte> Unsent => _array.AsMemory(_start, _end - _start);

    internal void Written(int count) => _end += count;

    internal void Sent(int count) => _start += count;

    internal void Reset()
    {
        _start = 0;
        _end = 0;
        Next = null;
    }
}
