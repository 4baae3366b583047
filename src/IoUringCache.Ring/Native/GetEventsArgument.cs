using System.Runtime.InteropServices;

namespace IoUringCache.Ring.Native;

/// <summary><c>struct io_uring_getevents_arg</c>, 24 bytes: argument of <c>IORING_ENTER_EXT_ARG</c>.</summary>
[StructLayout(LayoutKind.Explicit, Size = 24)]
internal struct GetEventsArgument
{
    [FieldOffset(16)] internal ulong Timeout; // ts: address of a KernelTimespec, relative
}
