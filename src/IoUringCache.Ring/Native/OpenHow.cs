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
