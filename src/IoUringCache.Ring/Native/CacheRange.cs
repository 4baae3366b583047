using System.Runtime.InteropServices;

namespace IoUringCache.Ring.Native;

/// <summary><c>struct cachestat_range</c>, 16 bytes: a range of a file.</summary>
[StructLayout(LayoutKind.Explicit, Size = 16)]
internal struct CacheRange
{
    [FieldOffset(0)] internal ulong Offset; // off
    [FieldOffset(8)] internal ulong Length; // len
}
