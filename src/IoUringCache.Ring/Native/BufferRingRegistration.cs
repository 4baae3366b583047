using System.Runtime.InteropServices;

namespace IoUringCache.Ring.Native;

/// <summary><c>struct io_uring_buf_reg</c>, 40 bytes: argument of <c>IORING_REGISTER_PBUF_RING</c>.</summary>
[StructLayout(LayoutKind.Explicit, Size = 40)]
internal struct BufferRingRegistration
{
    [FieldOffset(0)] internal ulong Address;    // ring_addr, aligned to a page
    [FieldOffset(8)] internal uint EntryCount;  // ring_entries
    [FieldOffset(12)] internal ushort Group;    // bgid
}
