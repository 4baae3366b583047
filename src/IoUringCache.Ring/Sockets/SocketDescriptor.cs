using System.Buffers.Binary;
using IoUringCache.Ring.Native;
using Microsoft.Win32.SafeHandles;

namespace IoUringCache.Ring;

/// <summary>
/// System calls on sockets that a ring has accepted or connects; none waits for a peer. Any thread; the caller owns the
/// descriptor.
/// </summary>
/// <remarks>
/// Source: socket(2), close(2), shutdown(2), getpeername(2), getsockname(2), sendfile(2), socket(7), tcp(7).
/// </remarks>
/// <example><code>
/// byte[] address = new byte[128];
/// int length = SocketDescriptor.GetPeerName(socket, address);
/// SocketDescriptor.CloseWithReset(socket);
/// </code></example>
public static unsafe class SocketDescriptor
{
    /// <summary>
    /// Opens a stream socket for <see cref="SubmissionQueue.PrepareConnect"/>: blocking, close-on-exec, not connected.
    /// </summary>
    /// <param name="socketAddress">
    /// The peer's address as a <c>sockaddr</c>, 2 bytes or more, of which only the family counts.
    /// </param>
    /// <returns>The descriptor, which the caller owns.</returns>
    /// <exception cref="ArgumentException">The address has no family.</exception>
    /// <exception cref="IoUringException">
    /// The system does not have this family (EAFNOSUPPORT), or no descriptor or memory is left.
    /// </exception>
    public static int OpenStream(ReadOnlySpan<byte> socketAddress)
    {
        if (!BinaryPrimitives.TryReadUInt16LittleEndian(socketAddress, out ushort family))
        {
            throw new ArgumentException("The address has no family.", nameof(socketAddress));
        }

        int socket = Libc.CreateSocket(family, LibcConstants.StreamSocket | LibcConstants.CloseOnExec, 0);
        return socket >= 0 ? socket : throw new IoUringException("socket", (Errno)Libc.LastError);
    }

    /// <summary>
    /// Closes a descriptor. A pending operation keeps the socket open, so the peer sees the end only when the last one
    /// has completed.
    /// </summary>
    /// <param name="fd">Any descriptor; it is closed afterwards, also after an error.</param>
    /// <exception cref="IoUringException">The descriptor is not open (EBADF): it was closed twice.</exception>
    public static void Close(int fd)
    {
        // After any other error of close(2), EINTR included, the descriptor is closed on Linux.
        if (Libc.Close(fd) < 0 && (Errno)Libc.LastError == Errno.EBADF)
        {
            throw new IoUringException($"close({fd})", Errno.EBADF);
        }
    }

    /// <summary>Closes a socket and resets the connection (<c>SO_LINGER</c> {1, 0}).</summary>
    /// <param name="fd">A socket; it is closed afterwards, also after an error.</param>
    /// <inheritdoc cref="Close" path="/exception"/>
    public static void CloseWithReset(int fd)
    {
        LingerSetting linger = new() { IsEnabled = 1, Seconds = 0 };

        // SAFETY: the kernel reads the local during the call. A failure is ignored: the close below is then an orderly
        // end, and reports a descriptor that is not open.
        _ = Libc.SetSocketOption(fd, LibcConstants.SocketLevel, LibcConstants.LingerOption, &linger, (uint)sizeof(LingerSetting));
        Close(fd);
    }

    /// <summary>
    /// Ends sending (<c>SHUT_WR</c>): the peer sees the end of the stream after all sent bytes. Does nothing if not
    /// connected.
    /// </summary>
    /// <param name="fd">A socket.</param>
    /// <exception cref="IoUringException">Any error but ENOTCONN.</exception>
    public static void ShutdownSend(int fd)
    {
        if (Libc.Shutdown(fd, LibcConstants.ShutdownWrite) < 0 && (Errno)Libc.LastError is var error and not Errno.ENOTCONN)
        {
            throw new IoUringException($"shutdown({fd})", error);
        }
    }

    /// <summary>Writes the peer's address as a <c>sockaddr</c>.</summary>
    /// <param name="fd">A socket.</param>
    /// <param name="address">Receives the address; 128 bytes hold every kind (<c>sockaddr_storage</c>).</param>
    /// <returns>Bytes written, or -1 if the socket is not connected.</returns>
    /// <exception cref="ArgumentException"><paramref name="address"/> is too short.</exception>
    /// <exception cref="IoUringException">Any error but ENOTCONN.</exception>
    public static int GetPeerName(int fd, Span<byte> address) => GetName(fd, address, ofPeer: true);

    /// <summary>Writes the socket's own address as a <c>sockaddr</c>.</summary>
    /// <inheritdoc cref="GetPeerName"/>
    public static int GetLocalName(int fd, Span<byte> address) => GetName(fd, address, ofPeer: false);

    /// <summary>Sets <c>TCP_NODELAY</c>: small segments do not wait for an acknowledgement.</summary>
    /// <param name="fd">A TCP socket.</param>
    /// <param name="enabled">True to send small segments at once.</param>
    /// <exception cref="IoUringException">The socket is not a TCP socket (EOPNOTSUPP), or not open (EBADF).</exception>
    public static void SetNoDelay(int fd, bool enabled) =>
        SetOption(fd, LibcConstants.TcpLevel, LibcConstants.NoDelayOption, enabled ? 1 : 0, "TCP_NODELAY");

    /// <summary>
    /// Has the kernel ask a peer that is silent whether it is there (<c>SO_KEEPALIVE</c>, <c>TCP_KEEPIDLE</c>,
    /// <c>TCP_KEEPINTVL</c>). After the system's number of probes (<c>tcp_keepalive_probes</c>, 9) without an answer
    /// the connection ends with ETIMEDOUT.
    /// </summary>
    /// <param name="fd">A TCP socket.</param>
    /// <param name="seconds">Seconds of silence before a probe, and between probes: 1 to 32,767.</param>
    /// <exception cref="IoUringException">
    /// The socket is not a TCP socket (EOPNOTSUPP) or not open (EBADF), or the time is out of range (EINVAL).
    /// </exception>
    public static void SetKeepAlive(int fd, int seconds)
    {
        SetOption(fd, LibcConstants.TcpLevel, LibcConstants.KeepAliveIdleOption, seconds, "TCP_KEEPIDLE");
        SetOption(fd, LibcConstants.TcpLevel, LibcConstants.KeepAliveIntervalOption, seconds, "TCP_KEEPINTVL");
        SetOption(fd, LibcConstants.SocketLevel, LibcConstants.KeepAliveOption, 1, "SO_KEEPALIVE");
    }

    /// <summary>
    /// Whether the next byte of the stream is urgent data (<c>MSG_OOB</c>) that no receive has passed yet
    /// (sockatmark(3)).
    /// </summary>
    /// <param name="fd">A connected socket.</param>
    /// <returns>True if it is; false also if the descriptor is not a socket, or not open.</returns>
    public static bool IsAtUrgentData(int fd) => Libc.IsAtMark(fd) > 0;

    /// <summary>
    /// Clears <c>O_NONBLOCK</c>, with which operations of a ring complete with EAGAIN instead of waiting. Errors are
    /// left to the next operation on the socket.
    /// </summary>
    /// <param name="fd">A socket.</param>
    public static void SetBlocking(int fd)
    {
        int flags = Libc.ControlDescriptor(fd, LibcConstants.GetDescriptorFlags, 0);
        if (flags >= 0 && (flags & LibcConstants.NonBlocking) != 0)
        {
            _ = Libc.ControlDescriptor(fd, LibcConstants.SetDescriptorFlags, flags & ~LibcConstants.NonBlocking);
        }
    }

    /// <summary>
    /// Sends a range of a file without a copy in the process (sendfile(2)), as much as the send buffer takes. Does not
    /// wait for the peer, but waits for the disk if the range is not in the page cache.
    /// </summary>
    /// <remarks>
    /// sendfile(2) has no flags and waits unless the descriptor is non-blocking, and then operations of a ring complete
    /// with EAGAIN. So the descriptor is non-blocking during the call only, and no operation on the socket may be
    /// submitted meanwhile. The process must ignore SIGPIPE, as .NET does.
    /// </remarks>
    /// <param name="socket">A connected stream socket.</param>
    /// <param name="file">A regular file, open for reading; its position does not change.</param>
    /// <param name="offset">Start of the range in bytes, 0 or more.</param>
    /// <param name="count">Bytes to send, 1 or more.</param>
    /// <returns>
    /// Bytes sent, fewer than <paramref name="count"/> if the send buffer is full; 0 if the file ends at the offset or
    /// before it; or -errno, EAGAIN if the send buffer takes nothing.
    /// </returns>
    /// <exception cref="ObjectDisposedException">The file is closed.</exception>
    public static int SendFile(int socket, SafeFileHandle file, long offset, int count)
    {
        ArgumentOutOfRangeException.ThrowIfNegativeOrZero(count);
        using HeldDescriptor descriptor = new(file);
        using NonBlockingCall call = new(socket);

        // SAFETY: the kernel reads and writes the local during the call.
        nint sent = Libc.SendFile(socket, descriptor.Number, &offset, (nuint)count);
        return sent >= 0 ? (int)sent : -Libc.LastError;
    }

    /// <summary>Creates a connected pair of stream sockets, close-on-exec.</summary>
    /// <exception cref="IoUringException">The process or the system has no descriptor left.</exception>
    internal static (int First, int Second) CreatePair()
    {
        int* pair = stackalloc int[2];

        // SAFETY: the kernel writes two descriptors to this frame during the call.
        return Libc.SocketPair(LibcConstants.UnixDomain, LibcConstants.StreamSocket | LibcConstants.CloseOnExec, 0, pair) == 0
            ? (pair[0], pair[1])
            : throw new IoUringException("socketpair", (Errno)Libc.LastError);
    }

    private static void SetOption(int fd, int level, int option, int value, string name)
    {
        // SAFETY: the kernel reads the parameter during the call.
        if (Libc.SetSocketOption(fd, level, option, &value, sizeof(int)) < 0)
        {
            throw new IoUringException($"setsockopt({fd}, {name})", (Errno)Libc.LastError);
        }
    }

    private static int GetName(int fd, Span<byte> address, bool ofPeer)
    {
        uint length = (uint)address.Length;

        // SAFETY: the kernel writes at most `length` bytes to the span, which is pinned for the call.
        fixed (byte* pointer = address)
        {
            if ((ofPeer ? Libc.GetPeerName(fd, pointer, &length) : Libc.GetSocketName(fd, pointer, &length)) < 0)
            {
                return (Errno)Libc.LastError is var error and not Errno.ENOTCONN
                    ? throw new IoUringException($"{(ofPeer ? "getpeername" : "getsockname")}({fd})", error)
                    : -1;
            }
        }

        return length <= (uint)address.Length
            ? (int)length
            : throw new ArgumentException($"The address has {length} bytes and the span {address.Length}.", nameof(address));
    }
}
