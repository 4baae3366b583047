using System.Buffers;

namespace IoUringCache.Transport.Internal.Buffers;

/// <summary>
/// A piece of received data, in a provided buffer, in rented memory or in memory of the application. Used by one reader at a time, from the receive
/// until the application advances past it, under that reader's lock.
/// </summary>
internal sealed class ReceivedSegment(IReceiveBufferOwner? buffers, int bufferId) : ReadOnlySequenceSegment<byte>
{
    /// <summary>The <see cref="BufferId"/> of other memory than provided buffers.</summary>
    internal const int NoBuffer = -1;

    private Memory<byte> _memory;
    private byte[]? _rented;

    /// <summary>The group of the buffer; null for other memory.</summary>
    internal IReceiveBufferOwner? Buffers => buffers;

    internal int BufferId => bufferId;

    internal ReceivedSegment? NextSegment => (ReceivedSegment?)Next;

    /// <summary>Position in the stream behind the last byte.</summary>
    internal long End => RunningIndex + Memory.Length;

    internal int FreeLength => _memory.Length - Memory.Length;

    /// <summary>Creates an empty segment of at least <paramref name="size"/> bytes of rented memory.</summary>
    internal static ReceivedSegment Rent(int size)
    {
        byte[] rented = ArrayPool<byte>.Shared.Rent(size);
        return new ReceivedSegment(buffers: null, NoBuffer) { _memory = rented, _rented = rented };
    }

    /// <summary>Sets the provided buffer, of which the first <paramref name="length"/> bytes were received.</summary>
    internal void Fill(Memory<byte> memory, int length)
    {
        _memory = memory;
        Memory = memory[..length];
    }

    /// <summary>Links this behind <paramref name="last"/>, at <paramref name="position"/> of the stream.</summary>
    internal void Link(ReceivedSegment? last, long position)
    {
        RunningIndex = position;
        if (last is not null)
        {
            last.Next = this;
        }
    }

    /// <summary>
    /// Copies data behind the present bytes. Earlier results keep their own end, and the start and the array stay, so
    /// reading the old part meanwhile is safe.
    /// </summary>
    internal void Append(ReadOnlySpan<byte> data)
    {
        data.CopyTo(_memory.Span[Memory.Length..]);
        Memory = _memory[..(Memory.Length + data.Length)];
    }

    /// <summary>Returns the buffer to the kernel, or the rented memory to the pool.</summary>
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
