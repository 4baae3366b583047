using System.Runtime.InteropServices;

namespace IoUringCache.Ring.Native;

/// <summary><c>struct open_how</c>, 24 bytes: how openat2(2) opens, and how it resolves the name.</summary>
[StructLayout(LayoutKind.Explicit, Size = 24)]
internal struct OpenHow
{
    [FieldOffset(0)] internal ulong Flags; // flags
    [FieldOffset(8)] internal ulong Mode; // mode
    [FieldOffset(16)] internal ulong Resolve; // resolve
}

/// <summary><c>struct statx</c>, 256 bytes: the status of a file. Only fields in use have a name.</summary>
[StructLayout(LayoutKind.Explicit, Size = 256)]
internal struct FileStatistics
{
    [FieldOffset(16)] internal uint LinkCount; // stx_nlink
    [FieldOffset(20)] internal uint UserId; // stx_uid
    [FieldOffset(28)] internal ushort Mode; // stx_mode
    [FieldOffset(32)] internal ulong Inode; // stx_ino
    [FieldOffset(40)] internal ulong Size; // stx_size
    [FieldOffset(112)] internal long ModifiedSeconds; // stx_mtime.tv_sec
    [FieldOffset(120)] internal uint ModifiedNanoseconds; // stx_mtime.tv_nsec
}

/// <summary><c>struct cachestat_range</c>, 16 bytes: a range of a file.</summary>
[StructLayout(LayoutKind.Explicit, Size = 16)]
internal struct CacheRange
{
    [FieldOffset(0)] internal ulong Offset; // off
    [FieldOffset(8)] internal ulong Length; // len
}

/// <summary>
/// <c>struct cachestat</c>, 40 bytes: pages of a range in the page cache. Only fields in use have a name.
/// </summary>
[StructLayout(LayoutKind.Explicit, Size = 40)]
internal struct CacheStatistics
{
    [FieldOffset(0)] internal ulong CachedPages; // nr_cache
}
