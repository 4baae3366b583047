using System.Runtime.InteropServices;

namespace IoUringCache.Ring.Native;

/// <summary>
/// <c>struct cachestat</c>, 40 bytes: pages of a range in the page cache. Only fields in use have a name.
/// </summary>
[StructLayout(LayoutKind.Explicit, Size = 40)]
internal struct CacheStatistics
{
    [FieldOffset(0)] internal ulong CachedPages; // nr_cache
}
