using System.Runtime.InteropServices;
using IoUringCache.Ring.Native;

namespace IoUringCache.Ring;

/// <summary>
/// Messages over a Unix stream socket that carry descriptors (<c>SCM_RIGHTS</c>): the receiver gets descriptors of its
/// own for the same open files and sockets. Any thread; no state.
/// </summary>
/// <remarks>Source: unix(7), cmsg(3), sendmsg(2), recvmsg(2).</remarks>
internal static unsafe class DescriptorMessage
{
    /// <summary>More than this the kernel does not carry in one message (<c>SCM_MAX_FD</c>).</summary>
    internal const int MaxDescriptors = 253;

    /// <summary>Sends a message. Does not wait for the peer.</summary>
    /// <param name="socket">A connected Unix stream socket.</param>
    /// <param name="data">1 byte or more, sent as a whole or not at all if few.</param>
    /// <param name="descriptors">0 to <see cref="MaxDescriptors"/> open descriptors.</param>
    /// <returns>Bytes sent, or -errno.</returns>
    /// <exception cref="ObjectDisposedException">The socket is closed.</exception>
    internal static int Send(SafeHandle socket, ReadOnlySpan<byte> data, ReadOnlySpan<int> descriptors)
    {
        ArgumentOutOfRangeException.ThrowIfZero(data.Length, nameof(data));
        ArgumentOutOfRangeException.ThrowIfGreaterThan(descriptors.Length, MaxDescriptors, nameof(descriptors));
        using HeldDescriptor held = new(socket);
        int length = sizeof(RightsHeader) + (descriptors.Length * sizeof(int));

        // Space is counted in words; the length in the header is not.
        ulong* control = stackalloc ulong[CountWords(length)];
        RightsHeader* header = (RightsHeader*)control;
        *header = new() { Length = (ulong)length, Level = LibcConstants.SocketLevel, Kind = LibcConstants.Rights };
        descriptors.CopyTo(new Span<int>(header + 1, descriptors.Length));

        // SAFETY: everything is in this frame or pinned, and the kernel reads it during the call.
        fixed (byte* pointer = data)
        {
            IoVector vector = new() { Base = (ulong)pointer, Length = (ulong)data.Length };
            MessageHeader message = new() { Vectors = (ulong)&vector, VectorCount = 1 };
            if (descriptors.Length > 0)
            {
                (message.Control, message.ControlLength) = ((ulong)control, (ulong)(CountWords(length) * sizeof(ulong)));
            }

            nint sent = Libc.SendMessage(held.Number, (nint)(&message), (int)(MessageFlags.DoNotWait | MessageFlags.NoSignal));
            return sent >= 0 ? (int)sent : -Libc.LastError;
        }
    }

    /// <summary>Receives what one send has sent. Waits for it, unless the descriptor is non-blocking.</summary>
    /// <param name="socket">A connected Unix stream socket.</param>
    /// <param name="data">1 byte or more; receives data.</param>
    /// <param name="descriptors">
    /// The descriptors that came with it, close-on-exec, which the caller owns. Empty after an error.
    /// </param>
    /// <returns>Bytes received, 0 at the end of the stream, or -errno.</returns>
    /// <exception cref="ObjectDisposedException">The socket is closed.</exception>
    internal static int Receive(SafeHandle socket, Span<byte> data, out int[] descriptors)
    {
        ArgumentOutOfRangeException.ThrowIfZero(data.Length, nameof(data));
        using HeldDescriptor held = new(socket);
        int words = CountWords(sizeof(RightsHeader) + (MaxDescriptors * sizeof(int)));
        ulong* control = stackalloc ulong[words];
        RightsHeader* header = (RightsHeader*)control;
        *header = default;

        // SAFETY: everything is in this frame or pinned, and the kernel writes it during the call.
        fixed (byte* pointer = data)
        {
            IoVector vector = new() { Base = (ulong)pointer, Length = (ulong)data.Length };
            MessageHeader message = new()
            {
                Vectors = (ulong)&vector,
                VectorCount = 1,
                Control = (ulong)control,
                ControlLength = (ulong)(words * sizeof(ulong)),
            };
            nint received = Libc.ReceiveMessage(held.Number, (nint)(&message), (int)MessageFlags.CloseOnExec);
            bool hasDescriptors = received >= 0 && message.ControlLength >= (ulong)sizeof(RightsHeader)
                && header->Level == LibcConstants.SocketLevel && header->Kind == LibcConstants.Rights;
            int count = hasDescriptors ? (int)(header->Length - (ulong)sizeof(RightsHeader)) / sizeof(int) : 0;
            descriptors = new ReadOnlySpan<int>(header + 1, count).ToArray();
            return received >= 0 ? (int)received : -Libc.LastError;
        }
    }

    private static int CountWords(int bytes) => (bytes + sizeof(ulong) - 1) / sizeof(ulong);
}
