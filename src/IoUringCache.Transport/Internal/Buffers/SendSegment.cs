using System.Buffers;
using IoUringCache.Transport.ZeroCopy;
using Microsoft.Win32.SafeHandles;

namespace IoUringCache.Transport.Internal.Buffers;

/// <summary>
/// A piece of what a connection sends: pinned memory of the pool that the application fills, the free rest of such
/// memory behind flushed bytes, or zero-copy bytes: memory of the application, pinned, or a range of a file, held open.
/// Owned by the writer while the application fills it, then by the <see cref="Connections.SendQueue"/>. The pool gets
/// memory back when the last segment over a part of it comes back.
/// </summary>
internal sealed class SendSegment
{
    private readonly Memory<byte> _own;

    /// <summary>
    /// The segment whose own memory this one covers, in part or as a whole; null for zero-copy bytes.
    /// </summary>
    private SendSegment? _root;

    private int _offsetInRoot;

    /// <summary>Segments over this one's own memory, itself included.</summary>
    private int _partCount;

    private Memory<byte> _writable;
    private ReadOnlyMemory<byte> _zeroCopy;
    private MemoryHandle _pin;
    private long _fileOffset;
    private int _start;
    private int _end;

    /// <summary>A segment with memory of its own.</summary>
    /// <param name="size">Bytes, 1 or more.</param>
    internal SendSegment(int size)
    {
        _own = GC.AllocateUninitializedArray<byte>(size, pinned: true);
        _root = this;
        _writable = _own;
        _partCount = 1;
    }

    /// <summary>A segment for the rest of another's memory, or for zero-copy bytes.</summary>
    internal SendSegment()
    {
    }

    internal SendSegment? Next { get; set; }

    internal bool IsZeroCopy => _root is null;

    /// <summary>The file of which this is a range; null for memory.</summary>
    internal SafeFileHandle? File { get; private set; }

    /// <summary>Where the unsent part of the range begins in the file.</summary>
    internal long FileOffset => _fileOffset + _start;

    /// <summary>Bytes of its own memory; 0 if it has none.</summary>
    internal int Capacity => _own.Length;

    internal int FreeLength => IsZeroCopy ? 0 : _writable.Length - _end;

    internal int Length => _end - _start;

    internal Memory<byte> FreeMemory => _writable[_end..];

    internal Span<byte> FreeSpan => _writable.Span[_end..];

    internal ReadOnlyMemory<byte> Unsent => IsZeroCopy ? _zeroCopy[_start.._end] : _writable[_start.._end];

    internal void Written(int count) => _end += count;

    internal void Sent(int count) => _start += count;

    /// <summary>Covers the free rest of a segment that was flushed and not yet returned.</summary>
    internal void CoverRestOf(SendSegment flushed)
    {
        _root = flushed._root!;
        Interlocked.Increment(ref _root._partCount);
        _offsetInRoot = flushed._offsetInRoot + flushed._end;
        _writable = flushed.FreeMemory;
    }

    /// <summary>
    /// Adds the bytes of another segment, if they follow its own in the same memory; the other is not needed then.
    /// </summary>
    internal bool TryJoin(SendSegment next)
    {
        if (IsZeroCopy || !ReferenceEquals(_root, next._root) || _offsetInRoot + _end != next._offsetInRoot)
        {
            return false;
        }

        _end += next._end;
        return true;
    }

    /// <summary>Fills the segment with zero-copy bytes: pins the memory, or holds the file open.</summary>
    /// <exception cref="ObjectDisposedException">The file is closed.</exception>
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

        _zeroCopy = source.Memory;
        File = source.File;
        _fileOffset = source.Offset;
        _end = source.Length;
    }

    /// <summary>Adds the range that follows this one in the same file, if it is that. Not after the flush.</summary>
    internal bool TryExtend(in ZeroCopySource source)
    {
        if (File is null || !ReferenceEquals(File, source.File) || source.Offset != _fileOffset + _end || source.Length > int.MaxValue - _end)
        {
            return false;
        }

        _end += source.Length;
        return true;
    }

    /// <summary>Empties the segment. Lets go of zero-copy bytes, which may run code of their owner.</summary>
    /// <returns>The segment whose own memory no other segment covers any more, or null.</returns>
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
            // The owner of the memory threw, which must not end the loop and its other connections.
        }

        File?.DangerousRelease();
        File = null;
    }
}
