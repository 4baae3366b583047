using System.Runtime.InteropServices;

namespace IoUringCache.Ring.Native;

/// <summary>
/// <c>struct msghdr</c>, 56 bytes: argument of <c>IORING_OP_SENDMSG</c>, of sendmsg(2) and of recvmsg(2).
/// </summary>
[StructLayout(LayoutKind.Explicit, Size = 56)]
internal struct MessageHeader
{
    [FieldOffset(16)] internal ulong Vectors;       // msg_iov
    [FieldOffset(24)] internal ulong VectorCount;   // msg_iovlen
    [FieldOffset(32)] internal ulong Control;       // msg_control
    [FieldOffset(40)] internal ulong ControlLength; // msg_controllen
}
