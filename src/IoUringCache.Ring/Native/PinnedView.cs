using System.Buffers;

namespace IoUringCache.Ring.Native;

/// <summary>
/// Pinned memory by its address. The span of memory whose owner was disposed may throw, though a pin keeps the bytes;
/// that of a view does not. Any thread; keeps the memory alive, and is valid while the pin is held.
/// </summary>
internal sealed unsafe class PinnedView(ReadOnlyMemory<byte> pinned, nint start) : MemoryManager<byte>
{
    // SAFETY: the holder of the pin uses the view only until it ends the pin, and so long the bytes stay where they are.
    public override Span<byte> GetSpan() => new((void*)start, pinned.Length);

    public override MemoryHandle Pin(int elementIndex = 0)
    {
        ArgumentOutOfRangeException.ThrowIfGreaterThan((uint)elementIndex, (uint)pinned.Length, nameof(elementIndex));

        // SAFETY: inside of the memory or at its end.
        return new MemoryHandle((byte*)start + elementIndex);
    }

    public override void Unpin()
    {
    }

    protected override void Dispose(bool disposing)
    {
    }
}
