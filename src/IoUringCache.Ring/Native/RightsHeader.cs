using System.Runtime.InteropServices;

namespace IoUringCache.Ring.Native;

/// <summary><c>struct cmsghdr</c>, 16 bytes: what stands before descriptors in a control message.</summary>
[StructLayout(LayoutKind.Explicit, Size = 16)]
internal struct RightsHeader
{
    [FieldOffset(0)] internal ulong Length; // cmsg_len, with this header
    [FieldOffset(8)] internal int Level;    // cmsg_level
    [FieldOffset(12)] internal int Kind;    // cmsg_type
}
