using System.Runtime.InteropServices;

namespace IoUringCache.Ring.Native;

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
