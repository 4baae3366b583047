using System.Buffers;

namespace IoUringCache.Transport.Internal.Pipes;

/// <summary>
/// A piece of what a connection sends: pinned memory of ours that the application writes to, or memory of the application's that it lends
/// and that stays pinned as long as it is lent. Owner: the writer while the application fills it, the writer's queue when flushed, the one
/// send in flight from its submission to its final completion (also when it was cancelled), then the pool.
/// </summary>
internal sealed class SendSegment
{
    private readonly byte[]? _own;
    private ReadOnlyMemory<byte> _memory;
    private MemoryHandle _pin;
    private int _start;
    private int _end;

    /// <summary>A segment with memory of its own.</summary>
    internal SendSegment(int size)
    {
        _own = GC.AllocateUninitializedArray<byte>(size, pinned: true);
        _memory = _own;
    }

    /// <summary>A segment for memory that is lent to it.</summary>
    internal SendSegment()
    {
    }

    internal SendSegment? Next { get; set; }

    internal bool IsLent => _own is null;

    internal int Capacity => _memory.Length;

    internal int FreeLength => _memory.Length - _end;

    internal int Length => _end - _start;

    internal Memory<byte> FreeMemory => _own.AsMemory(_end);

    internal Span<byte> FreeSpan => _own.AsSpan(_end);

    internal ReadOnlyMemory<byte> Unsent => _memory[_start.._end];

    internal void Written(int count) => _end += count;

    internal void Sent(int count) => _start += count;

    /// <summary>Takes memory to send; it is full of it.</summary>
    internal void Borrow(ReadOnlyMemory<byte> memory)
    {
        _pin = memory.Pin();
        _memory = memory;
        _end = memory.Length;
    }

    /// <summary>Empties it; memory that was lent goes back, which may run code of its owner.</summary>
    internal void Reset()
    {
        _start = 0;
        _end = 0;
        Next = null;
        if (_own is null)
        {
            _memory = default;
            MemoryHandle pin = _pin;
            _pin = default;
            Release(pin);
        }
    }

    private static void Release(MemoryHandle pin)
    {
        try
        {
            pin.Dispose();
        }
        catch (Exception)
        {
            // The owner of the memory threw. That is nothing to the loop, whose other connections have no part in it.
        }
    }
}
