namespace IoUringCache.Caching.Storage;

/// <summary>
/// The bytes of one object: an append-only list of immutable chunks. One writer (the fill); any number of readers on any thread, each
/// with its own <see cref="ObjectReader"/>. A chunk lives as long as the list or a reader refers to it.
/// <para>
/// A body of unknown length lies in memory as it goes out over HTTP/1.1, each append in a <see cref="ChunkFrame"/>: the frame is the same
/// for every client, so it is made once, and any number of frames that lie behind each other are one piece of memory to send.
/// </para>
/// </summary>
internal sealed class ObjectBody : IThreadPoolWorkItem
{
    /// <summary>Bytes. The chunks of a body of known length are all of this size but the last.</summary>
    public const int LargestChunk = 64 * 1024;

    private const int SmallestChunk = 8 * 1024;

    /// <summary>
    /// As many as pay for a file: 1.8 ms for 1.3 MB in small pages, most of it their first touch and their end, where a hit saves 60 us
    /// (docs/design/cache-store.md).
    /// </summary>
    public const int HitsBeforeFiles = 32;

    /// <summary>A frame is begun only where this part of its chunk is free: many small frames cost more than the room.</summary>
    private const int SmallestPart = 16;

    private readonly long? _knownLength;
    private readonly BodyMemory _memory;
    private Chunk? _first;
    private Chunk? _beforeLast;
    private Chunk _last;
    private long _length;
    private long _storedLength;
    private long _announcedLength;
    private int _end;
    private int _hits;

    /// <param name="knownLength">Length in bytes, where the origin told it: the chunks then fit exactly.</param>
    public ObjectBody(long? knownLength, BodyMemory memory)
    {
        (_knownLength, _memory) = (knownLength, memory);
        _first = _last = NewChunk();
    }

    /// <summary>Whether the bytes lie in frames.</summary>
    public bool IsFramed => _knownLength is null;

    /// <summary>Bytes received.</summary>
    public long Length => Volatile.Read(ref _length);

    /// <summary>Bytes of memory in which they lie: the same, and the frames. What readers count their positions in.</summary>
    public long StoredLength => Volatile.Read(ref _storedLength);

    /// <summary>Memory of all chunks ever made, in bytes. For the writer, and for anybody after the end.</summary>
    public long CapacityBytes { get; private set; }

    public BodyEnd End => (BodyEnd)Volatile.Read(ref _end);

    /// <summary>Raised when bytes are announced, and at the end.</summary>
    public ChangeSignal Changes { get; } = new();

    /// <summary>Whether all of it is there, so that a reader may go back.</summary>
    public bool IsWhole => End == BodyEnd.Complete && Volatile.Read(ref _first) is not null;

    /// <summary>Where a reader starts. Not after <see cref="ForgetStart"/>.</summary>
    public Chunk First => Volatile.Read(ref _first) ?? throw new InvalidOperationException("The start of this body is gone.");

    /// <summary>The bytes of a whole body without their frames, for who is no client: it keeps the chunks alive, and counts as no reader.</summary>
    public IEnumerable<ReadOnlyMemory<byte>> Pieces
    {
        get
        {
            for (Chunk? chunk = First; chunk is not null; chunk = chunk.Next)
            {
                int overhead = IsFramed ? ChunkFrame.Overhead : 0;
                for (ReadOnlyMemory<byte> rest = chunk.From(0); !rest.IsEmpty;)
                {
                    ReadOnlyMemory<byte> piece = IsFramed ? ChunkFrame.BytesOfFirst(rest) : rest;
                    yield return piece;
                    rest = rest[(piece.Length + overhead)..];
                }
            }
        }
    }

    /// <summary>
    /// Somebody gets a stored body: many such, and a large one is moved to files (<see cref="BodyMemory"/>). One that nobody asks for again, as
    /// most are, never costs that.
    /// </summary>
    public void OnHit()
    {
        if (_knownLength >= BodyMemory.SmallestFile && Interlocked.Increment(ref _hits) == HitsBeforeFiles && IsWhole)
        {
            ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: false);
        }
    }

    /// <summary>Writer only: at least one byte of room, and no more than what a body of known length still lacks.</summary>
    public Memory<byte> GetFreeMemory()
    {
        if (_last.Free.Length < (IsFramed ? Math.Max(_last.Capacity / SmallestPart, ChunkFrame.Overhead + 1) : 1))
        {
            Chunk next = NewChunk();
            _last.Link(next);
            (_beforeLast, _last) = (_last, next);
        }

        return IsFramed ? _last.Free[ChunkFrame.SizeLineLength..^ChunkFrame.EndLength] : _last.Free;
    }

    /// <summary>
    /// Writer only: publishes one or more bytes of the free memory. Readers that look find them; those that wait are woken by
    /// <see cref="Announce"/>, or here once a chunk's worth has come.
    /// </summary>
    public void Append(int count)
    {
        int stored = count;
        if (IsFramed)
        {
            stored += ChunkFrame.Overhead;
            ChunkFrame.Close(_last.Free.Span[..stored]);
        }

        _last.Publish(stored);
        Volatile.Write(ref _length, _length + count);
        Volatile.Write(ref _storedLength, _storedLength + stored);
        if (_storedLength - _announcedLength >= LargestChunk)
        {
            Announce();
        }
    }

    /// <summary>
    /// Writer only, before it waits for anything: wakes the readers if there is something new. So bytes that come together, which the
    /// client of the origin may well hand over in pieces, wake and are sent once.
    /// </summary>
    public void Announce()
    {
        if (_storedLength != _announcedLength)
        {
            _announcedLength = _storedLength;
            Changes.Raise();
        }
    }

    /// <summary>
    /// Writer only, when all bytes are there: puts an exact copy in the place of a last chunk with room left, so that a body weighs what it
    /// holds. A reader in the old chunk finds the same bytes there.
    /// </summary>
    public void Trim()
    {
        if (_last.Free.IsEmpty)
        {
            return;
        }

        Chunk exact = _last.CopyTo(BodyMemory.Array(_last.Length));
        if (ReferenceEquals(_first, _last))
        {
            Volatile.Write(ref _first, exact);
        }
        else
        {
            _beforeLast?.Link(exact);
        }

        CapacityBytes += exact.Capacity - _last.Capacity;
        _last = exact;
    }

    /// <summary>Writer only: no byte comes any more.</summary>
    public void Finish(BodyEnd end)
    {
        Volatile.Write(ref _end, (int)end);
        Changes.RaiseLast();
    }

    /// <summary>Writer only: from now on a chunk lives only as long as a reader has not passed it. No reader can be opened any more.</summary>
    public void ForgetStart()
    {
        Volatile.Write(ref _first, null);
        _beforeLast = null;
    }

    private Chunk NewChunk()
    {
        // Unknown length: as much again as there is, so that small bodies stay small and large ones have few chunks.
        int capacity = _knownLength is { } length
            ? (int)Math.Clamp(length - _length, 1, LargestChunk)
            : (int)Math.Clamp(_length, SmallestChunk, LargestChunk);
        CapacityBytes += capacity;
        return new(BodyMemory.Array(capacity), _length);
    }

    /// <summary>
    /// On the thread pool, once, when the writer has gone, so nobody else changes the list: it begins anew in files, and goes on in arrays where
    /// less than a file is left. Who reads the old chunks finds the same bytes there; they go with the last of their readers.
    /// </summary>
    void IThreadPoolWorkItem.Execute()
    {
        Chunk? first = null;
        Chunk? last = null;
        Memory<byte> file = default;
        for (Chunk? old = First; old is not null; old = old.Next)
        {
            if (file.IsEmpty)
            {
                file = _memory.TryFile(Length - old.Start);
            }

            // A file holds whole chunks, or ends with the body.
            Chunk chunk = file.IsEmpty ? old : old.CopyTo(file[..old.Length]);
            first ??= chunk;
            last?.Link(chunk);
            last = chunk;
            if (file.IsEmpty)
            {
                break;
            }

            file = file[old.Length..];
        }

        Volatile.Write(ref _first, first);
        _beforeLast = null;
        if (last!.Next is null)
        {
            _last = last;
        }
    }
}

/// <summary>Whether more of a body is to come. Leaves <see cref="Growing"/> once, for good.</summary>
internal enum BodyEnd
{
    Growing,

    /// <summary>All bytes are there and the origin's framing was valid.</summary>
    Complete,

    /// <summary>The rest will never come: readers are cut.</summary>
    Broken,
}

/// <summary>The origin died in the middle of a body: whoever reads it must be cut visibly.</summary>
internal sealed class BrokenBodyException() : IOException("The body ended before it was complete.");
