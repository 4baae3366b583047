using System.Buffers;
using System.Runtime.InteropServices;
using IoUringCache.Ring;
using IoUringCache.Transport.ZeroCopy;

namespace IoUringCache.Transport.Internal.Buffers;

/// <summary>
/// Bytes to send: pinned pool memory, the free rest of another segment, pinned memory of the application, a file
/// range, or the next bytes of a splice pipe. Owned by the writer until the flush, then by the
/// <see cref="Connections.SendQueue"/>; the pool gets memory back with the last segment over it.
/// </summary>
internal sealed class SendSegment
{
    private readonly Memory<byte> _own;

    /// <summary>The segment whose memory this one covers; null for zero-copy bytes.</summary>
    private SendSegment? _root;

    private int _offsetInRoot;

    /// <summary>Segments over this one's memory, itself included.</summary>
    private int _partCount;

    private Memory<byte> _writable;
    private ReadOnlyMemory<byte> _zeroCopy;
    private MemoryHandle _pin;
    private long _fileOffset;
    private int _start;
    private int _end;

    /// <summary>Creates a segment with <paramref name="size"/> bytes of its own, 1 or more.</summary>
    internal SendSegment(int size)
    {
        _own = GC.AllocateUninitializedArray<byte>(size, pinned: true);
        _root = this;
        _writable = _own;
        _partCount = 1;
    }

    internal SendSegment()
    {
    }

    internal SendSegment? Next { get; set; }

    internal bool IsZeroCopy => _root is null;

    /// <summary>The file, or the <see cref="KernelPipe"/>; null for memory.</summary>
    internal SafeHandle? File { get; private set; }

    /// <summary>Offset in the file of the first unsent byte.</summary>
    internal long FileOffset => _fileOffset + _start;

    /// <summary>Bytes of its own memory, or 0.</summary>
    internal int Capacity => _own.Length;

    internal int FreeLength => IsZeroCopy ? 0 : _writable.Length - _end;

    internal int Length => _end - _start;

    internal Memory<byte> FreeMemory => _writable[_end..];

    internal Span<byte> FreeSpan => _writable.Span[_end..];

    internal ReadOnlyMemory<byte> Unsent => IsZeroCopy ? _zeroCopy[_start.._end] : _writable[_start.._end];

    internal void Written(int count) => _end += count;

    internal void Sent(int count) => _start += count;

    /// <summary>Covers the free rest of a flushed segment that is not yet returned.</summary>
    internal void CoverRestOf(SendSegment flushed)
    {
        _root = flushed._root!;
        Interlocked.Increment(ref _root._partCount);
        _offsetInRoot = flushed._offsetInRoot + flushed._end;
        _writable = flushed.FreeMemory;
    }

    /// <summary>Adds the bytes of the next segment if they adjoin in memory; that segment is then unused.</summary>
    internal bool TryJoin(SendSegment next)
    {
        if (IsZeroCopy || !ReferenceEquals(_root, next._root) || _offsetInRoot + _end != next._offsetInRoot)
        {
            return false;
        }

        _end += next._end;
        return true;
    }

    /// <summary>Pins the memory, or holds the file or the pipe open.</summary>
    /// <exception cref="ObjectDisposedException">The file or the pipe is closed.</exception>
    internal void Hold(in ZeroCopySource source)
    {
        if (source.File is null)
        {
            _pin = source.Memory.Pin();
        }
        else
        {
            bool isHeld = false;
            source.File.DangerousAddRef(ref isHeld);
        }

        // The owner may be disposed before the send: the pin keeps the bytes, but such memory gives no span any more.
        _zeroCopy = SubmissionQueue.ViewOf(source.Memory, _pin);
        File = source.File;
        _fileOffset = source.Offset;
        _end = source.Length;
    }

    /// <summary>Adds a range if it follows this one in the same file. Not after the flush.</summary>
    internal bool TryExtend(in ZeroCopySource source)
    {
        if (File is null || !ReferenceEquals(File, source.File) || source.Offset != _fileOffset + _end || source.Length > int.MaxValue - _end)
        {
            return false;
        }

        _end += source.Length;
        return true;
    }

    /// <summary>Empties the segment. Releasing zero-copy bytes may run their owner's code.</summary>
    /// <returns>The segment whose memory became free, or null.</returns>
    internal SendSegment? Reset()
    {
        SendSegment? root = _root;
        _start = 0;
        _end = 0;
        Next = null;
        if (root is null)
        {
            LetGo();
            return null;
        }

        if (!ReferenceEquals(root, this))
        {
            _root = null;
            _writable = default;
            _offsetInRoot = 0;
        }

        if (Interlocked.Decrement(ref root._partCount) != 0)
        {
            return null;
        }

        root._partCount = 1;
        return root;
    }

    private void LetGo()
    {
        MemoryHandle pin = _pin;
        _zeroCopy = default;
        _pin = default;
        try
        {
            pin.Dispose();
        }
        catch (Exception)
        {
            // The memory's owner threw; the loop and its other connections go on.
        }

        File?.DangerousRelease();
        File = null;
    }
}
