using System.Runtime.InteropServices;

namespace IoUringCache.Ring.Native;

/// <summary><c>struct io_cqring_offsets</c>, 40 bytes: words of the completion ring in its mapping.</summary>
[StructLayout(LayoutKind.Explicit, Size = 40)]
internal struct CompletionRingOffsets
{
    [FieldOffset(0)] internal uint Head;        // head
    [FieldOffset(4)] internal uint Tail;        // tail
    [FieldOffset(8)] internal uint Mask;        // ring_mask
    [FieldOffset(12)] internal uint EntryCount; // ring_entries
    [FieldOffset(20)] internal uint Entries;    // cqes
}
