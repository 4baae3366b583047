using System.Runtime.InteropServices;

namespace IoUringCache.Ring.Native;

/// <summary><c>struct io_uring_sqe</c>, 64 bytes: one operation for the kernel. Unused fields must be zero.</summary>
[StructLayout(LayoutKind.Explicit, Size = 64)]
internal struct SubmissionEntry
{
    [FieldOffset(0)] internal Opcode Opcode;        // opcode
    [FieldOffset(1)] internal EntryFlags Flags;     // flags
    [FieldOffset(2)] internal ushort Modifier;      // ioprio
    [FieldOffset(4)] internal int Descriptor;       // fd
    [FieldOffset(8)] internal ulong Offset;         // off
    [FieldOffset(16)] internal ulong Address;       // addr
    [FieldOffset(24)] internal uint Length;         // len
    [FieldOffset(28)] internal uint OperationFlags; // msg_flags, accept_flags, poll32_events, ...
    [FieldOffset(32)] internal ulong UserDataBits;  // user_data
    [FieldOffset(40)] internal ushort BufferGroup;  // buf_group
}
