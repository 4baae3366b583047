using System.Buffers;
using System.Runtime.InteropServices;
using IoUringCache.Ring.Native;
using Microsoft.Win32.SafeHandles;

namespace IoUringCache.Ring;

/// <content>One method per operation; each fills one entry.</content>
// SAFETY: Claim has just returned the entry: it is inside the mapping, not published yet, and the owner thread's.
public sealed unsafe partial class SubmissionQueue
{
    private const uint InjectResult = 1; // IORING_NOP_INJECT_RESULT

    /// <summary>Completes at once with 0.</summary>
    /// <param name="userData">Returned in the completion.</param>
    public void PrepareNop(UserData userData) => Claim(Opcode.Nop, -1, userData);

    /// <summary>
    /// Completes at once with <paramref name="result"/>, for tests (<c>IORING_NOP_INJECT_RESULT</c>); with EINVAL on
    /// older kernels.
    /// </summary>
    /// <param name="result">0 or more, or -errno.</param>
    /// <param name="userData">Returned in the completion.</param>
    internal void PrepareNopWithResult(int result, UserData userData)
    {
        SubmissionEntry* entry = Claim(Opcode.Nop, -1, userData);
        entry->Length = (uint)result;
        entry->OperationFlags = InjectResult;
    }

    /// <summary>Accepts one connection and completes with its descriptor, close-on-exec.</summary>
    /// <param name="listenSocket">A listening stream socket.</param>
    /// <param name="userData">Returned in the completion.</param>
    public void PrepareAccept(int listenSocket, UserData userData)
    {
        SubmissionEntry* entry = Claim(Opcode.Accept, listenSocket, userData);
        entry->OperationFlags = LibcConstants.CloseOnExec;
    }

    /// <summary>
    /// Completes once per connection with its descriptor, close-on-exec, until it completes without
    /// <see cref="Completion.HasMore"/> (Linux 5.19).
    /// </summary>
    /// <param name="listenSocket">A listening stream socket.</param>
    /// <param name="userData">Returned in each completion.</param>
    public void PrepareAcceptMultishot(int listenSocket, UserData userData)
    {
        SubmissionEntry* entry = Claim(Opcode.Accept, listenSocket, userData);
        entry->Modifier = OperationModifier.AcceptMultishot;
        entry->OperationFlags = LibcConstants.CloseOnExec;
    }

    /// <summary>
    /// Connects a socket and completes with 0, or with the error of connect(2). After a cancel the connect may still
    /// be under way, so the socket is then of no use but to be closed.
    /// </summary>
    /// <param name="socket">A stream socket that is not connected, open until the completion.</param>
    /// <param name="socketAddress">
    /// The peer's address as a <c>sockaddr</c>, 2 to <see cref="MaxSocketAddressBytes"/> bytes; read only during this
    /// call.
    /// </param>
    /// <param name="userData">Returned in the completion.</param>
    /// <exception cref="ArgumentOutOfRangeException">The address is too short or too long.</exception>
    public void PrepareConnect(int socket, ReadOnlySpan<byte> socketAddress, UserData userData)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(socketAddress.Length, sizeof(ushort), nameof(socketAddress));
        ArgumentOutOfRangeException.ThrowIfGreaterThan(socketAddress.Length, MaxSocketAddressBytes, nameof(socketAddress));

        SubmissionEntry* entry = Claim(Opcode.Connect, socket, userData);
        SlotArguments* arguments = ClaimedArguments();

        // SAFETY: as for a gathered send; the address fits, as was checked.
        socketAddress.CopyTo(new Span<byte>(&arguments->Address, MaxSocketAddressBytes));
        entry->Address = (ulong)&arguments->Address;
        entry->Offset = (ulong)socketAddress.Length;
    }

    /// <summary>
    /// Completes each time bytes arrive, with a buffer of the group, until it completes without
    /// <see cref="Completion.HasMore"/> (Linux 6.0). A result of 0 is the end of the stream, ENOBUFS an empty group.
    /// </summary>
    /// <param name="socket">A connected socket.</param>
    /// <param name="bufferGroup"><see cref="ProvidedBufferRing.Group"/> of a buffer ring of this ring.</param>
    /// <param name="userData">Returned in each completion.</param>
    public void PrepareReceiveMultishot(int socket, ushort bufferGroup, UserData userData)
    {
        SubmissionEntry* entry = Claim(Opcode.Receive, socket, userData);
        entry->Flags = EntryFlags.BufferSelect;
        entry->Modifier = OperationModifier.ReceiveMultishot;
        entry->BufferGroup = bufferGroup;
    }

    /// <summary>
    /// Completes once when bytes arrive, with a buffer of the group, which is selected only then (Linux 5.19). A result
    /// of 0 is the end of the stream, ENOBUFS an empty group.
    /// </summary>
    /// <param name="socket">A connected socket.</param>
    /// <param name="bufferGroup"><see cref="ProvidedBufferRing.Group"/> of a buffer ring of this ring.</param>
    /// <param name="userData">Returned in the completion.</param>
    public void PrepareReceive(int socket, ushort bufferGroup, UserData userData)
    {
        SubmissionEntry* entry = Claim(Opcode.Receive, socket, userData);
        entry->Flags = EntryFlags.BufferSelect;
        entry->BufferGroup = bufferGroup;
    }

    /// <summary>
    /// Completes once when bytes arrive, with the number of those that were received into memory of the caller. A
    /// result of 0 is the end of the stream.
    /// </summary>
    /// <param name="socket">A connected socket.</param>
    /// <param name="pinned">
    /// Pinned memory, 1 byte or more, alive until the completion; until then the kernel writes to it.
    /// </param>
    /// <param name="userData">Returned in the completion.</param>
    public void PrepareReceive(int socket, Memory<byte> pinned, UserData userData)
    {
        SubmissionEntry* entry = Claim(Opcode.Receive, socket, userData);
        entry->Address = IoVector.AddressOf(pinned);
        entry->Length = (uint)pinned.Length;
    }

    /// <summary>
    /// The memory of a pin, for sends: it can be named to the kernel also when its owner was disposed after it was
    /// pinned. Any thread.
    /// </summary>
    /// <param name="pinned">The memory, of any kind.</param>
    /// <param name="pin">Its pin, held while the result is in use.</param>
    /// <returns>The same bytes.</returns>
    public static ReadOnlyMemory<byte> ViewOf(ReadOnlyMemory<byte> pinned, MemoryHandle pin) =>
        pin.Pointer != null && MemoryMarshal.TryGetMemoryManager<byte, MemoryManager<byte>>(pinned, out _)
            ? new PinnedView(pinned, (nint)pin.Pointer).Memory
            : pinned;

    /// <summary>
    /// Sends all bytes and completes with their count, or with less after an error or a cancel. One send per socket at
    /// a time: the bytes of two would interleave.
    /// </summary>
    /// <param name="socket">A connected socket.</param>
    /// <param name="pinned">Pinned memory, alive and unchanged until the completion.</param>
    /// <param name="userData">Returned in the completion.</param>
    /// <param name="moreFollows">Lets a segment that is not full wait for the next send (<c>MSG_MORE</c>).</param>
    public void PrepareSend(int socket, ReadOnlyMemory<byte> pinned, UserData userData, bool moreFollows = false)
    {
        SubmissionEntry* entry = Claim(Opcode.Send, socket, userData);
        entry->Address = IoVector.AddressOf(pinned);
        entry->Length = (uint)pinned.Length;
        entry->OperationFlags = SendFlags(moreFollows);
    }

    /// <summary>Sends the bytes of all segments in order, as <see cref="PrepareSend"/> does with one.</summary>
    /// <param name="socket">A connected socket.</param>
    /// <param name="pinned">
    /// 1 to <see cref="MaxGatherSegments"/> pieces of pinned memory, alive and unchanged until the completion. The span
    /// itself is read only during this call.
    /// </param>
    /// <param name="userData">Returned in the completion.</param>
    /// <param name="moreFollows">As for <see cref="PrepareSend"/>.</param>
    /// <exception cref="ArgumentOutOfRangeException">No segment, or too many.</exception>
    public void PrepareSendGather(int socket, ReadOnlySpan<ReadOnlyMemory<byte>> pinned, UserData userData, bool moreFollows = false)
    {
        ArgumentOutOfRangeException.ThrowIfZero(pinned.Length, nameof(pinned));
        ArgumentOutOfRangeException.ThrowIfGreaterThan(pinned.Length, MaxGatherSegments, nameof(pinned));

        SubmissionEntry* entry = Claim(Opcode.SendMessage, socket, userData);
        SlotArguments* arguments = ClaimedArguments();
        IoVector.Fill(arguments->Vectors, pinned);

        // SAFETY: the structures are in the native memory of this slot, which is reused only after the kernel has
        // consumed the entry.
        arguments->Header = default;
        arguments->Header.Vectors = (ulong)&arguments->Vectors;
        arguments->Header.VectorCount = (ulong)pinned.Length;
        entry->Address = (ulong)&arguments->Header;
        entry->Length = 1;
        entry->OperationFlags = SendFlags(moreFollows);
    }

    /// <summary>
    /// Completes with the events of poll(2) when the socket is writable or has failed; for use with
    /// <see cref="SocketDescriptor.SendFile"/>.
    /// </summary>
    /// <param name="socket">A connected socket.</param>
    /// <param name="userData">Returned in the completion.</param>
    public void PreparePollWritable(int socket, UserData userData)
    {
        SubmissionEntry* entry = Claim(Opcode.PollAdd, socket, userData);
        entry->OperationFlags = LibcConstants.PollWritable;
    }

    /// <summary>
    /// Completes with the events of poll(2) when bytes or the end have come to the socket, or it has failed; for use
    /// with <see cref="KernelPipe.Receive"/>.
    /// </summary>
    /// <inheritdoc cref="PreparePollWritable"/>
    public void PreparePollReadable(int socket, UserData userData)
    {
        SubmissionEntry* entry = Claim(Opcode.PollAdd, socket, userData);
        entry->OperationFlags = LibcConstants.PollReadable;
    }

    /// <summary>
    /// Reads at an offset of a file and completes with the count of bytes. The count may be less than requested, and is
    /// 0 at the end of the file.
    /// </summary>
    /// <param name="file">A file, open for reading until the completion.</param>
    /// <param name="pinned">Pinned memory, alive and unused until the completion; aligned for O_DIRECT.</param>
    /// <param name="offset">Start of the range in bytes, 0 or more.</param>
    /// <param name="userData">Returned in the completion.</param>
    /// <exception cref="ArgumentOutOfRangeException">The offset is negative.</exception>
    public void PrepareRead(SafeFileHandle file, Memory<byte> pinned, long offset, UserData userData) =>
        PrepareFile(Opcode.Read, file, pinned, offset, userData);

    /// <summary><see cref="PrepareRead"/> into registered memory (<see cref="KernelRing.RegisterMemory"/>).</summary>
    /// <param name="file">A file, open for reading until the completion.</param>
    /// <param name="registered">A part of the registered memory; other memory completes with EFAULT.</param>
    /// <param name="piece">Index of the registered memory, 0 or more; an unknown index completes with EFAULT.</param>
    /// <param name="offset">Start of the range in bytes, 0 or more.</param>
    /// <param name="userData">Returned in the completion.</param>
    /// <exception cref="ArgumentOutOfRangeException">The offset is negative.</exception>
    internal void PrepareReadFixed(SafeFileHandle file, Memory<byte> registered, ushort piece, long offset, UserData userData) =>
        PrepareFile(Opcode.ReadFixed, file, registered, offset, userData)->BufferGroup = piece;

    /// <summary>
    /// Writes at an offset of a file and completes with the count of bytes, which may be less than given (a full disk).
    /// The bytes are then in the page cache: they survive the process, but not a power failure.
    /// </summary>
    /// <param name="file">A file, open for writing until the completion.</param>
    /// <param name="pinned">Pinned memory, alive and unchanged until the completion; aligned for O_DIRECT.</param>
    /// <param name="offset">Start of the range in bytes, 0 or more.</param>
    /// <param name="userData">Returned in the completion.</param>
    /// <exception cref="ArgumentOutOfRangeException">The offset is negative.</exception>
    public void PrepareWrite(SafeFileHandle file, ReadOnlyMemory<byte> pinned, long offset, UserData userData) =>
        PrepareFile(Opcode.Write, file, pinned, offset, userData);

    /// <summary>
    /// Completes when <paramref name="descriptor"/> is signalled, and resets it. One read per event at a time; it must
    /// complete before the event is disposed.
    /// </summary>
    /// <param name="descriptor">The event to read.</param>
    /// <param name="userData">Returned in the completion.</param>
    /// <exception cref="ObjectDisposedException">The event is disposed.</exception>
    public void PrepareReadEvent(EventDescriptor descriptor, UserData userData)
    {
        ArgumentNullException.ThrowIfNull(descriptor);
        ObjectDisposedException.ThrowIf(descriptor.IsClosed, descriptor);

        SubmissionEntry* entry = Claim(Opcode.Read, descriptor.Descriptor, userData);
        entry->Address = (ulong)descriptor.ValueAddress;
        entry->Length = EventDescriptor.ValueBytes;
    }

    /// <summary>Completes with ETIME after a time.</summary>
    /// <param name="after">Time from the submission on, 0 or more, at a resolution of 100 nanoseconds.</param>
    /// <param name="userData">Returned in the completion.</param>
    /// <exception cref="ArgumentOutOfRangeException"><paramref name="after"/> is negative.</exception>
    public void PrepareTimeout(TimeSpan after, UserData userData)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(after, TimeSpan.Zero);

        SubmissionEntry* entry = Claim(Opcode.Timeout, -1, userData);
        SlotArguments* arguments = ClaimedArguments();

        // SAFETY: as for a gathered send.
        arguments->Time = KernelTimespec.From(after);
        entry->Address = (ulong)&arguments->Time;
        entry->Length = 1;
    }

    /// <summary>
    /// Cancels the operation that carries <paramref name="target"/>. The cancel completes with 0, ENOENT (no such
    /// operation) or EALREADY (it is completing); the operation completes as well, with ECANCELED or with its result.
    /// </summary>
    /// <param name="target">User data of the operation to cancel.</param>
    /// <param name="userData">Returned in the completion of the cancel.</param>
    public void PrepareCancel(UserData target, UserData userData)
    {
        SubmissionEntry* entry = Claim(Opcode.AsyncCancel, -1, userData);
        entry->Address = target.Value;
    }

    private SubmissionEntry* PrepareFile(Opcode opcode, SafeFileHandle file, ReadOnlyMemory<byte> pinned, long offset, UserData userData)
    {
        ArgumentNullException.ThrowIfNull(file);
        ObjectDisposedException.ThrowIf(file.IsClosed, file);

        // -1 means the file's own position, which operations would share.
        ArgumentOutOfRangeException.ThrowIfNegative(offset);
        SubmissionEntry* entry = Claim(opcode, (int)file.DangerousGetHandle(), userData);
        entry->Offset = (ulong)offset;
        entry->Address = IoVector.AddressOf(pinned);
        entry->Length = (uint)pinned.Length;
        return entry;
    }

    private static uint SendFlags(bool moreFollows) =>
        (uint)(MessageFlags.NoSignal | MessageFlags.WaitAll | (moreFollows ? MessageFlags.More : 0));
}
