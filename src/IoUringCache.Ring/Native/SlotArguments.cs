using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace IoUringCache.Ring.Native;

/// <summary>
/// The parameter structures of one slot of the submission queue, 1088 bytes, to which its entry points. They are reused
/// only after the kernel has consumed the entry, and then it does not need them (IORING_FEAT_SUBMIT_STABLE).
/// </summary>
[StructLayout(LayoutKind.Explicit, Size = 1088)]
internal struct SlotArguments
{
    internal const int MaxVectors = 64;
    internal const int MaxAddressBytes = 128;

    [FieldOffset(0)] internal KernelTimespec Time;
    [FieldOffset(0)] internal MessageHeader Header;
    [FieldOffset(0)] internal AddressBytes Address;
    [FieldOffset(56)] internal VectorList Vectors;

    /// <summary>The segments of a gathered send.</summary>
    [InlineArray(MaxVectors)]
    internal struct VectorList
    {
        private IoVector _first;
    }

    /// <summary>The peer's address of a connect (<c>sockaddr_storage</c>).</summary>
    [InlineArray(MaxAddressBytes)]
    internal struct AddressBytes
    {
        private byte _first;
    }
}
