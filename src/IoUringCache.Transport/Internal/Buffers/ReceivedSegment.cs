using System.Buffers;

namespace IoUringCache.Transport.Internal.Buffers;

/// <summary>
/// A piece of received data: a provided buffer (<see cref="Buffers"/> and <see cref="BufferId"/> say which) or rented
/// memory. Owned by the reader that holds it and guarded by its lock; the application sees it through a
/// <see cref="ReadOnlySequence{T}"/> until it advances past it.
/// </summary>
internal sealed class ReceivedSegment(IReceiveBufferOwner? buffers, int bufferId) : ReadOnlySequenceSegment<byte>
{
    /// <summary>The segment's id for memory that is rented, not provided.</summary>
    internal const int Rented = -1;

    private Memory<byte> _memory;
    private byte[]? _rented;

    /// <summary>The buffer's group; null for memory that is rented.</summary>
    internal IReceiveBufferOwner? Buffers => buffers;

    internal int BufferId => bufferId;

    internal ReceivedSegment? NextSegment => (ReceivedSegment?)Next;

    /// <summary>Position in the connection's stream of the byte behind this segment's last one.</summary>
    internal long End => RunningIndex + Memory.Length;

    /// <summary>Bytes that still fit in.</summary>
    internal int FreeLength => _memory.Length - Memory.Length;

    /// <summary>A segment of its own memory, empty.</summary>
    internal static ReceivedSegment Rent(int size)
    {
        byte[] rented = ArrayPool<byte>.Shared.Rent(size);
        return new ReceivedSegment(buffers: null, Rented) { _memory = rented, _rented = rented };
    }

    /// <summary>
    /// Makes this the segment of a provided buffer with its first <paramref name="length"/> bytes received.
    /// </summary>
    internal void Fill(Memory<byte> memory, int length)
    {
        _memory = memory;
        Memory = memory[..length];
    }

    /// <summary>
    /// Appends this to the list behind <paramref name="last"/>, at <paramref name="position"/> of the stream.
    /// </summary>
    internal void Link(ReceivedSegment? last, long position)
    {
        RunningIndex = position;
        if (last is not null)
        {
            last.Next = this;
        }
    }

    /// <summary>
    /// Copies data behind what is here. A result that the application holds keeps its own end, so it does not see the
    /// data; the start and the array stay as they are, so reading the old part meanwhile is safe.
    /// </summary>
    internal void Append(ReadOnlySpan<byte> data)
    {
        data.CopyTo(_memory.Span[Memory.Length..]);
        Memory = _memory[..(Memory.Length + data.Length)];
    }

    /// <summary>Returns the memory: a provided buffer to the kernel, rented memory to the pool.</summary>
    internal void Release()
    {
        Memory = default;
        Next = null;
        RunningIndex = 0;
        _memory = default;
        buffers?.Release(bufferId);
        if (_rented is not null)
        {
            ArrayPool<byte>.Shared.Return(_rented);
            _rented = null;
        }
    }
}
