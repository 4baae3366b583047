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

/// <summary><c>MSG_*</c>: the flags of a send or receive in use.</summary>
[Flags]
internal enum MessageFlags : uint
{
    DoNotWait = 0x40,         // MSG_DONTWAIT: this call does not wait, even if the descriptor is blocking.
    WaitAll = 0x100,          // MSG_WAITALL: the kernel continues a short send until all is sent, or an error.
    NoSignal = 0x4000,        // MSG_NOSIGNAL: a closed peer is an error, not a signal.
    More = 0x8000,            // MSG_MORE: a last segment that is not full may wait for the next send.
    CloseOnExec = 0x40000000, // MSG_CMSG_CLOEXEC: received descriptors are close-on-exec.
}

/// <summary><c>struct cmsghdr</c>, 16 bytes: what stands before descriptors in a control message.</summary>
[StructLayout(LayoutKind.Explicit, Size = 16)]
internal struct RightsHeader
{
    [FieldOffset(0)] internal ulong Length; // cmsg_len, with this header
    [FieldOffset(8)] internal int Level;    // cmsg_level
    [FieldOffset(12)] internal int Kind;    // cmsg_type
}

/// <summary><c>struct linger</c>, 8 bytes: argument of <c>SO_LINGER</c>.</summary>
[StructLayout(LayoutKind.Explicit, Size = 8)]
internal struct LingerSetting
{
    [FieldOffset(0)] internal int IsEnabled; // l_onoff
    [FieldOffset(4)] internal int Seconds;   // l_linger
}
