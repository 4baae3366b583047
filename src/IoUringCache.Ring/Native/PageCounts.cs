using System.Runtime.InteropServices;

namespace IoUringCache.Ring.Native;

/// <summary><c>struct cachestat</c>: how many pages of a range are where.</summary>
[StructLayout(LayoutKind.Sequential)]
internal struct PageCounts
{
    internal ulong Cached;          // nr_cache
    internal ulong Dirty;           // nr_dirty
    internal ulong Writeback;       // nr_writeback
    internal ulong Evicted;         // nr_evicted
    internal ulong RecentlyEvicted; // nr_recently_evicted
}
