using System.Runtime.InteropServices;

namespace IoUringCache.Ring.Native;

/// <summary><c>struct io_uring_sync_cancel_reg</c>, 64 bytes: argument of <c>IORING_REGISTER_SYNC_CANCEL</c>.</summary>
[StructLayout(LayoutKind.Explicit, Size = 64)]
internal struct SyncCancelArgument
{
    /// <summary><c>IORING_ASYNC_CANCEL_ALL | IORING_ASYNC_CANCEL_ANY</c>: every operation of the ring, Linux 5.19.</summary>
    internal const uint Everything = (1 << 0) | (1 << 2);

    [FieldOffset(0)] internal ulong Target;            // addr: user data of one operation
    [FieldOffset(8)] internal int Descriptor;          // fd
    [FieldOffset(12)] internal uint Flags;             // flags
    [FieldOffset(16)] internal KernelTimespec Timeout; // timeout
}
