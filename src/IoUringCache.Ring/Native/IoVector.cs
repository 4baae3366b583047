using System.Runtime.InteropServices;

namespace IoUringCache.Ring.Native;

/// <summary><c>struct iovec</c>, 16 bytes: one segment of a gathered send.</summary>
[StructLayout(LayoutKind.Explicit, Size = 16)]
internal struct IoVector
{
    [FieldOffset(0)] internal ulong Base;   // iov_base
    [FieldOffset(8)] internal ulong Length; // iov_len
}
