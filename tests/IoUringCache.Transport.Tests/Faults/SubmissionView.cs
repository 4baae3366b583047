using System.Runtime.InteropServices;
using IoUringCache.Ring;
using IoUringCache.Ring.Native;
using IoUringCache.Transport.Internal.Buffers;
using IoUringCache.Transport.Internal.Loops;

namespace IoUringCache.Transport.Tests.Faults;

/// <summary>
/// One entry of a ring's submission queue that the kernel has not seen yet, for a test to rewrite. Whatever it becomes, its completion
/// carries the same name. Only during the enter that shows it.
/// </summary>
/// <param name="Address">Where the entry lies; its layout is that of <see cref="SubmissionEntry"/>.</param>
internal readonly record struct SubmissionView(nint Address)
{
    private const int EntryBytes = 64;
    private const int DescriptorOffset = 4;
    private const int PayloadOffset = 16;
    private const int LengthOffset = 24;
    private const int OperationFlagsOffset = 28;
    private const int NameOffset = 32;
    private const int BufferGroupOffset = 40;

    /// <summary><c>IORING_NOP_INJECT_RESULT</c>: the operation does nothing and completes with the result in its length.</summary>
    private const int InjectResult = 1;

    internal OperationKind Kind => (OperationKind)Name.Kind;

    internal UserData Name => UserData.FromValue((ulong)Marshal.ReadInt64(Address, NameOffset));

    /// <summary>Whether this is a receive for a body that flows in.</summary>
    internal bool IsLargeReceive => Kind == OperationKind.Receive && Marshal.ReadInt16(Address, BufferGroupOffset) == ReceiveBuffers.LargeGroup;

    /// <summary>What a cancellation is to cancel.</summary>
    internal OperationKind CancelledKind => (OperationKind)UserData.FromValue((ulong)Marshal.ReadInt64(Address, PayloadOffset)).Kind;

    /// <summary>Has the ring complete the entry with a result instead of doing what it asks for.</summary>
    internal void CompleteWith(int result)
    {
        Clear(Opcode.Nop);
        Marshal.WriteInt32(Address, DescriptorOffset, -1);
        Marshal.WriteInt32(Address, LengthOffset, result);
        Marshal.WriteInt32(Address, OperationFlagsOffset, InjectResult);
    }

    /// <summary>Has the entry complete, with 8, when an event is signalled.</summary>
    internal void WaitFor(EventDescriptor signal)
    {
        Clear(Opcode.Read);
        Marshal.WriteInt32(Address, DescriptorOffset, signal.Descriptor);
        Marshal.WriteInt64(Address, PayloadOffset, signal.ValueAddress);
        Marshal.WriteInt32(Address, LengthOffset, EventDescriptor.ValueBytes);
    }

    /// <summary>Has a send stop after so many bytes of its first segment.</summary>
    internal void Shorten(int bytes)
    {
        if ((Opcode)Marshal.ReadByte(Address) == Opcode.Send)
        {
            Marshal.WriteInt32(Address, LengthOffset, Math.Min(bytes, Marshal.ReadInt32(Address, LengthOffset)));
            return;
        }

        MessageView.Shorten((nint)Marshal.ReadInt64(Address, PayloadOffset), bytes);
    }

    private void Clear(Opcode opcode)
    {
        for (int offset = 0; offset < EntryBytes; offset += sizeof(long))
        {
            if (offset != NameOffset)
            {
                Marshal.WriteInt64(Address, offset, 0);
            }
        }

        Marshal.WriteByte(Address, (byte)opcode);
    }
}
