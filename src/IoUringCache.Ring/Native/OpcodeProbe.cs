using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace IoUringCache.Ring.Native;

/// <summary><c>struct io_uring_probe</c> of 256 operations, 2064 bytes: for <c>IORING_REGISTER_PROBE</c>.</summary>
[StructLayout(LayoutKind.Explicit, Size = 16 + (MaxOperations * 8))]
internal struct OpcodeProbe
{
    internal const int MaxOperations = 256;

    [FieldOffset(1)] internal byte OperationCount;      // ops_len
    [FieldOffset(16)] internal OperationList Operations; // ops

    internal readonly bool Supports(Opcode opcode) => (byte)opcode < OperationCount && Operations[(byte)opcode].IsSupported;

    /// <summary>The flexible array at the end of the structure.</summary>
    [InlineArray(MaxOperations)]
    internal struct OperationList
    {
        private OpcodeProbeEntry _first;
    }
}
