using System.Runtime.InteropServices;

namespace IoUringCache.Ring.Native;

/// <summary><c>struct io_sqring_offsets</c>, 40 bytes: words of the submission ring in its mapping.</summary>
[StructLayout(LayoutKind.Explicit, Size = 40)]
internal struct SubmissionRingOffsets
{
    [FieldOffset(0)] internal uint Head;        // head
    [FieldOffset(4)] internal uint Tail;        // tail
    [FieldOffset(8)] internal uint Mask;        // ring_mask
    [FieldOffset(12)] internal uint EntryCount; // ring_entries
    [FieldOffset(16)] internal uint Flags;      // flags
    [FieldOffset(24)] internal uint Array;      // array; 0 with IORING_SETUP_NO_SQARRAY
}
