using System.Buffers;
using IoUringCache.Transport.ZeroCopy;
using Microsoft.Win32.SafeHandles;

namespace IoUringCache.Transport.Internal.Buffers;

/// <summary>
/// A piece of what a connection sends: pinned memory of ours that the application writes to, the free rest of such memory whose beginning
/// was flushed already, or what the application lends: its own memory, which stays pinned, or a range of a file, which stays open.
/// <para>
/// Owner: the writer while the application fills it, the writer's queue when flushed, the one send in flight from its submission to its
/// final completion (also when it was cancelled), then the pool. Memory of ours goes back when the last segment that has a part of it does.
/// </para>
/// </summary>
internal sealed class SendSegment
{
    private readonly Memory<byte> _own;

    /// <summary>The segment of whose own memory this has a part, or all; null for what is lent.</summary>
    private SendSegment? _root;

    private int _offsetInRoot;

    /// <summary>Of its own memory: the segments that have one, itself included.</summary>
    private int _parts;

    private Memory<byte> _writable;
    private ReadOnlyMemory<byte> _lent;
    private MemoryHandle _pin;
    private long _fileOffset;
    private int _start;
    private int _end;

    /// <summary>A segment with memory of its own.</summary>
    internal SendSegment(int size)
    {
        _own = GC.AllocateUninitializedArray<byte>(size, pinned: true);
        _root = this;
        _writable = _own;
        _parts = 1;
    }

    /// <summary>A segment for the rest of another's memory, or for what is lent to it.</summary>
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

    internal ReadOnlyMemory<byte> Unsent => IsZeroCopy ? _lent[_start.._end] : _writable[_start.._end];

    internal void Written(int count) => _end += count;

    internal void Sent(int count) => _start += count;

    /// <summary>Takes the free rest of a segment that nobody writes to any more, and that somebody still has.</summary>
    internal void TakeRestOf(SendSegment flushed)
    {
        _root = flushed._root!;
        Interlocked.Increment(ref _root._parts);
        _offsetInRoot = flushed._offsetInRoot + flushed._end;
        _writable = flushed.FreeMemory;
    }

    /// <summary>Takes the bytes of another segment too, if they follow its own in the same memory; the other is of no use then.</summary>
    internal bool TryJoin(SendSegment next)
    {
        if (IsZeroCopy || !ReferenceEquals(_root, next._root) || _offsetInRoot + _end != next._offsetInRoot)
        {
            return false;
        }

        _end += next._end;
        return true;
    }

    /// <summary>Takes what is lent; it is full of it.</summary>
    /// <exception cref="ObjectDisposedException">The file is closed.</exception>
    internal void Borrow(in ZeroCopySource loan)
    {
        if (loan.File is null)
        {
            _pin = loan.Memory.Pin();
        }
        else
        {
            bool isHeld = false;
            loan.File.DangerousAddRef(ref isHeld);
        }

        _lent = loan.Memory;
        File = loan.File;
        _fileOffset = loan.Offset;
        _end = loan.Length;
    }

    /// <summary>Takes the range that follows this one in the same file as well, if it is that. Not after it was flushed.</summary>
    internal bool TryExtend(in ZeroCopySource loan)
    {
        if (File is null || !ReferenceEquals(File, loan.File) || loan.Offset != _fileOffset + _end || loan.Length > int.MaxValue - _end)
        {
            return false;
        }

        _end += loan.Length;
        return true;
    }

    /// <summary>Empties it; what was lent goes back, which may run code of its owner.</summary>
    /// <returns>The segment whose own memory nobody has a part of any more, if there is one.</returns>
    internal SendSegment? Reset()
    {
        SendSegment? root = _root;
        _start = 0;
        _end = 0;
        Next = null;
        if (root is null)
        {
            GiveBack();
            return null;
        }

        if (!ReferenceEquals(root, this))
        {
            _root = null;
            _writable = default;
            _offsetInRoot = 0;
        }

        if (Interlocked.Decrement(ref root._parts) != 0)
        {
            return null;
        }

        root._parts = 1;
        return root;
    }

    private void GiveBack()
    {
        _lent = default;
        MemoryHandle pin = _pin;
        _pin = default;
        Release(pin);
        File?.DangerousRelease();
        File = null;
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
