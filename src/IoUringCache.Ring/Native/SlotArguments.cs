using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace IoUringCache.Ring.Native;

/// <summary>
/// The parameter structures of one slot of the submission queue, 1088 bytes: what an entry points to besides its payload. A slot is
/// not used again before the kernel has consumed its entry, and a consumed entry needs them no more (IORING_FEAT_SUBMIT_STABLE).
/// </summary>
[StructLayout(LayoutKind.Explicit, Size = 1088)]
internal struct SlotArguments
{
    internal const int MaxVectors = 64;

    [FieldOffset(0)] internal KernelTimespec Time;
    [FieldOffset(0)] internal MessageHeader Header;
    [FieldOffset(56)] internal VectorList Vectors;

    /// <summary>The segments of a gathered send.</summary>
    [InlineArray(MaxVectors)]
    internal struct VectorList
    {
        private IoVector _first;
    }
}
