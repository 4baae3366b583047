using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace IoUringCache.Ring.Native;

/// <summary><c>enum io_uring_register_op</c>: the calls of <c>io_uring_register</c> in use.</summary>
internal enum RegisterOpcode : uint
{
    Buffers = 0,     // IORING_REGISTER_BUFFERS, Linux 5.1
    Probe = 8,       // IORING_REGISTER_PROBE, Linux 5.6
    BufferRing = 22, // IORING_REGISTER_PBUF_RING, Linux 5.19
    SyncCancel = 24, // IORING_REGISTER_SYNC_CANCEL, Linux 6.0
}

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

/// <summary><c>struct io_uring_probe_op</c>, 8 bytes: support of one operation.</summary>
[StructLayout(LayoutKind.Explicit, Size = 8)]
internal struct OpcodeProbeEntry
{
    private const ushort SupportedFlag = 1 << 0; // IO_URING_OP_SUPPORTED

    [FieldOffset(0)] internal Opcode Opcode; // op
    [FieldOffset(2)] internal ushort Flags;  // flags

    internal readonly bool IsSupported => (Flags & SupportedFlag) != 0;
}

/// <summary><c>struct io_uring_buf_reg</c>, 40 bytes: argument of <c>IORING_REGISTER_PBUF_RING</c>.</summary>
[StructLayout(LayoutKind.Explicit, Size = 40)]
internal struct BufferRingRegistration
{
    [FieldOffset(0)] internal ulong Address;    // ring_addr, aligned to a page
    [FieldOffset(8)] internal uint EntryCount;  // ring_entries
    [FieldOffset(12)] internal ushort Group;    // bgid
}

/// <summary>
/// <c>struct io_uring_buf</c>, 16 bytes: one buffer that the kernel may fill. Has no field for the last two bytes,
/// which in the first entry are the ring's tail.
/// </summary>
[StructLayout(LayoutKind.Explicit, Size = 16)]
internal struct BufferRingEntry
{
    /// <summary>Offset of the tail in the first entry, which is <c>struct io_uring_buf_ring</c>.</summary>
    internal const int TailOffset = 14;

    [FieldOffset(0)] internal ulong Address;   // addr
    [FieldOffset(8)] internal uint Length;     // len
    [FieldOffset(12)] internal ushort BufferId; // bid
}

/// <summary><c>struct io_uring_sync_cancel_reg</c>, 64 bytes: argument of <c>IORING_REGISTER_SYNC_CANCEL</c>.</summary>
[StructLayout(LayoutKind.Explicit, Size = 64)]
internal struct SyncCancelArgument
{
    /// <summary><c>IORING_ASYNC_CANCEL_ALL | IORING_ASYNC_CANCEL_ANY</c>: every operation of the ring, Linux 5.19.</summary>
    internal const uint Everything = (1 << 0) | (1 << 2);

    [FieldOffset(0)] internal ulong Target;            // addr: user data of one operation
    [FieldOffset(8)] internal int Descriptor;          // fd
    [FieldOffset(12)] internal uint Flags;             // flags
    [FieldOffset(16)] internal KernelTimespec Timeout; // timeout
}
