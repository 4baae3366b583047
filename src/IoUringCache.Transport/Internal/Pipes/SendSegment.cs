using System.Buffers;
using Microsoft.Win32.SafeHandles;

namespace IoUringCache.Transport.Internal.Pipes;

/// <summary>
/// A piece of what a connection sends: pinned memory of ours that the application writes to, or what the application lends: its own
/// memory, which stays pinned, or a range of a file, which stays open. Owner: the writer while the application fills it, the writer's queue when flushed, the one
/// send in flight from its submission to its final completion (also when it was cancelled), then the pool.
/// </summary>
internal sealed class SendSegment
{
    private readonly byte[]? _own;
    private ReadOnlyMemory<byte> _memory;
    private MemoryHandle _pin;
    private long _fileOffset;
    private int _start;
    private int _end;

    /// <summary>A segment with memory of its own.</summary>
    internal SendSegment(int size)
    {
        _own = GC.AllocateUninitializedArray<byte>(size, pinned: true);
        _memory = _own;
    }

    /// <summary>A segment for what is lent to it.</summary>
    internal SendSegment()
    {
    }

    internal SendSegment? Next { get; set; }

    internal bool IsLent => _own is null;

    /// <summary>The file of which this is a range; null for memory.</summary>
    internal SafeFileHandle? File { get; private set; }

    /// <summary>Where the unsent part of the range begins in the file.</summary>
    internal long FileOffset => _fileOffset + _start;

    internal int Capacity => _memory.Length;

    internal int FreeLength => IsLent ? 0 : _memory.Length - _end;

    internal int Length => _end - _start;

    internal Memory<byte> FreeMemory => _own.AsMemory(_end);

    internal Span<byte> FreeSpan => _own.AsSpan(_end);

    internal ReadOnlyMemory<byte> Unsent => _memory[_start.._end];

    internal void Written(int count) => _end += count;

    internal void Sent(int count) => _start += count;

    /// <summary>Takes what is lent; it is full of it.</summary>
    /// <exception cref="ObjectDisposedException">The file is closed.</exception>
    internal void Borrow(in Loan loan)
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

        _memory = loan.Memory;
        File = loan.File;
        _fileOffset = loan.Offset;
        _end = loan.Length;
    }

    /// <summary>Takes the range that follows this one in the same file as well, if it is that. Not after it was flushed.</summary>
    internal bool TryExtend(in Loan loan)
    {
        if (File is null || !ReferenceEquals(File, loan.File) || loan.Offset != _fileOffset + _end || loan.Length > int.MaxValue - _end)
        {
            return false;
        }

        _end += loan.Length;
        return true;
    }

    /// <summary>Empties it; what was lent goes back, which may run code of its owner.</summary>
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
            File?.DangerousRelease();
            File = null;
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
