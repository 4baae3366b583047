using System.Runtime.InteropServices;

namespace IoUringCache.Ring.Native;

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
