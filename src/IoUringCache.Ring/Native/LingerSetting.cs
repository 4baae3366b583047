using System.Runtime.InteropServices;

namespace IoUringCache.Ring.Native;

/// <summary><c>struct linger</c>, 8 bytes: argument of <c>SO_LINGER</c>.</summary>
[StructLayout(LayoutKind.Explicit, Size = 8)]
internal struct LingerSetting
{
    [FieldOffset(0)] internal int IsEnabled; // l_onoff
    [FieldOffset(4)] internal int Seconds;   // l_linger
}
