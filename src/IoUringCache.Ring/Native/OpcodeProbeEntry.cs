using System.Runtime.InteropServices;

namespace IoUringCache.Ring.Native;

/// <summary><c>struct io_uring_probe_op</c>, 8 bytes: support of one operation.</summary>
[StructLayout(LayoutKind.Explicit, Size = 8)]
internal struct OpcodeProbeEntry
{
    private const ushort SupportedFlag = 1 << 0; // IO_URING_OP_SUPPORTED

    [FieldOffset(0)] internal Opcode Opcode; // op
    [FieldOffset(2)] internal ushort Flags;  // flags

    internal readonly bool IsSupported => (Flags & SupportedFlag) != 0;
}
