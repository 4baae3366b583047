using System.Runtime.InteropServices;

namespace IoUringCache.Ring.Native;

/// <summary>
/// <c>struct io_uring_buf</c>, 16 bytes: one buffer that the kernel may fill. Has no field for the last two bytes,
/// which in the first entry are the ring's tail.
/// </summary>
[StructLayout(LayoutKind.Explicit, Size = 16)]
internal struct BufferRingEntry
{
    /// <summary>Offset of the tail in the first entry, which is <c>struct io_uring_buf_ring</c>.</summary>
    internal const int TailOffset = 14;

    [FieldOffset(0)] internal ulong Address;   // addr
    [FieldOffset(8)] internal uint Length;     // len
    [FieldOffset(12)] internal ushort BufferId; // bid
}
