using System.Runtime.InteropServices;

namespace IoUringCache.Ring.Native;

/// <summary><c>IORING_ENTER_*</c>: the flags of <c>io_uring_enter</c> in use.</summary>
[Flags]
internal enum EnterFlags : uint
{
    None = 0,                   // Submit only.
    GetEvents = 1u << 0,        // IORING_ENTER_GETEVENTS: run deferred work and wait for completions.
    ExtendedArgument = 1u << 3, // IORING_ENTER_EXT_ARG, Linux 5.11: the argument is a GetEventsArgument.
}

/// <summary><c>struct io_uring_getevents_arg</c>, 24 bytes: argument of <c>IORING_ENTER_EXT_ARG</c>.</summary>
[StructLayout(LayoutKind.Explicit, Size = 24)]
internal struct GetEventsArgument
{
    [FieldOffset(16)] internal ulong Timeout; // ts: address of a KernelTimespec, relative
}

/// <summary><c>struct __kernel_timespec</c>, 16 bytes: a relative time.</summary>
[StructLayout(LayoutKind.Explicit, Size = 16)]
internal struct KernelTimespec
{
    [FieldOffset(0)] internal long Seconds;     // tv_sec
    [FieldOffset(8)] internal long Nanoseconds; // tv_nsec

    internal static KernelTimespec From(TimeSpan time) => new()
    {
        Seconds = time.Ticks / TimeSpan.TicksPerSecond,
        Nanoseconds = time.Ticks % TimeSpan.TicksPerSecond * TimeSpan.NanosecondsPerTick,
    };
}
