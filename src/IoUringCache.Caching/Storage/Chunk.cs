namespace IoUringCache.Caching.Storage;

/// <summary>
/// A piece of a body. Written by the one fill that owns the body, read by any thread: bytes below <see cref="Length"/> never change, and
/// a chunk that has a <see cref="Next"/> is full for good. A transport may send from its memory without a copy.
/// </summary>
/// <param name="memory">Pinned, or a file; its own, or a part of what several chunks of its body share.</param>
/// <param name="start">Bytes of the body before this chunk, frames not counted: how a reader finds its place.</param>
internal sealed class Chunk(Memory<byte> memory, long start)
{
    private int _length;
    private Chunk? _next;

    public int Capacity => memory.Length;

    public long Start => start;

    /// <summary>Bytes published. Read with acquire: whoever sees the length sees the bytes.</summary>
    public int Length => Volatile.Read(ref _length);

    /// <summary>The chunk after this one. Read it before <see cref="Length"/>: then the length is the final one.</summary>
    public Chunk? Next => Volatile.Read(ref _next);

    /// <summary>Writer only: room that no reader looks at.</summary>
    public Memory<byte> Free => memory[_length..];

    public ReadOnlyMemory<byte> From(int offset) => memory[offset..Length];

    /// <summary>Writer only: hands <paramref name="count"/> bytes of <see cref="Free"/> to the readers.</summary>
    public void Publish(int count) => Volatile.Write(ref _length, _length + count);

    /// <summary>Writer only, or when it has gone: a full chunk with the same bytes.</summary>
    /// <param name="room">As many bytes.</param>
    public Chunk CopyTo(Memory<byte> room)
    {
        Chunk copy = new(room, start);
        From(0).CopyTo(room);
        copy.Publish(_length);
        return copy;
    }

    /// <summary>Writer only.</summary>
    public void Link(Chunk next) => Volatile.Write(ref _next, next);
}
