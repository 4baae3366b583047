using System.Runtime.InteropServices;

namespace IoUringCache.Ring.Native;

/// <summary><c>struct cachestat</c>, 40 bytes: what is in the page cache of a range, in pages. Only what is used has a name.</summary>
[StructLayout(LayoutKind.Explicit, Size = 40)]
internal struct CacheStatistics
{
    [FieldOffset(0)] internal ulong CachedPages; // nr_cache
}
