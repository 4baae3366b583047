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

/// <summary><c>enum io_uring_op</c>: the operations in use.</summary>
internal enum Opcode : byte
{
    Nop = 0,          // IORING_OP_NOP, Linux 5.1
    ReadFixed = 4,    // IORING_OP_READ_FIXED, Linux 5.1
    PollAdd = 6,      // IORING_OP_POLL_ADD, Linux 5.1
    SendMessage = 9,  // IORING_OP_SENDMSG, Linux 5.3
    Timeout = 11,     // IORING_OP_TIMEOUT, Linux 5.4
    Accept = 13,      // IORING_OP_ACCEPT, Linux 5.5; multishot 5.19
    AsyncCancel = 14, // IORING_OP_ASYNC_CANCEL, Linux 5.5
    Connect = 16,     // IORING_OP_CONNECT, Linux 5.5
    Read = 22,        // IORING_OP_READ, Linux 5.6
    Write = 23,       // IORING_OP_WRITE, Linux 5.6
    Send = 26,        // IORING_OP_SEND, Linux 5.6; MSG_WAITALL honoured since 5.19
    Receive = 27,     // IORING_OP_RECV, Linux 5.6; multishot 6.0
}

/// <summary><c>IOSQE_*</c>: the flags of a submission entry in use.</summary>
[Flags]
internal enum EntryFlags : byte
{
    BufferSelect = 1 << 5, // IOSQE_BUFFER_SELECT, Linux 5.7: the kernel takes a buffer from the group of the entry.
}

/// <summary>Values of the field <c>ioprio</c>, which socket operations use for modifiers of their own.</summary>
internal static class OperationModifier
{
    internal const ushort AcceptMultishot = 1 << 0;  // IORING_ACCEPT_MULTISHOT, Linux 5.19
    internal const ushort ReceiveMultishot = 1 << 1; // IORING_RECV_MULTISHOT, Linux 6.0
}
