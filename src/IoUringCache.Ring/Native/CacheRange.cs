using System.Runtime.InteropServices;

namespace IoUringCache.Ring.Native;

/// <summary><c>struct cachestat_range</c>: a range of a file.</summary>
[StructLayout(LayoutKind.Sequential)]
internal struct CacheRange
{
    internal ulong Offset; // off
    internal ulong Length; // len
}
