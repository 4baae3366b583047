using System.Runtime.Versioning;
using IoUringCache.Ring.Native;
using Microsoft.Win32.SafeHandles;

namespace IoUringCache.Ring;

/// <summary>
/// A pipe(7) that takes bytes from one socket and gives them to another, first in, first out, as references to the
/// kernel's own buffers: nothing is copied (splice(2)). No call waits. Any thread, one receiver and one sender at a
/// time; owned by its references, and both descriptors are closed with the last one.
/// </summary>
/// <remarks>
/// splice(2) waits for a socket unless that is non-blocking, and then operations of a ring complete with EAGAIN. So the
/// socket is non-blocking during the call only, and no operation on it may be submitted meanwhile; a poll may be
/// pending. The process must ignore SIGPIPE, as .NET does.
/// </remarks>
/// <example><code>
/// using KernelPipe pipe = KernelPipe.Create(256 * 1024);
/// int received = pipe.Receive(origin, 256 * 1024);
/// int sent = received > 0 ? pipe.Send(client, received) : received;
/// </code></example>
public sealed unsafe class KernelPipe : SafeHandleMinusOneIsInvalid
{
    private readonly int _input;

    private KernelPipe(int output, int input)
        : base(ownsHandle: true)
    {
        _input = input;
        SetHandle(output);
    }

    /// <summary>Bytes that it holds if all pages are full.</summary>
    public int Capacity { get; private init; }

    /// <summary>Creates an empty pipe: two descriptors, close-on-exec and non-blocking.</summary>
    /// <param name="capacity">
    /// Bytes, 1 or more, rounded up to a power of two of pages. The kernel counts a page for each piece of its buffers
    /// that is referred to, however short. It refuses more than <c>/proc/sys/fs/pipe-max-size</c>, and to a user
    /// without privileges what is over <c>pipe-user-pages-soft</c> pages in all of the user's pipes; the pipe is then
    /// smaller.
    /// </param>
    /// <returns>The pipe, whose <see cref="Capacity"/> tells what was granted; the caller disposes it.</returns>
    /// <exception cref="ArgumentOutOfRangeException">The capacity is not positive.</exception>
    /// <exception cref="IoUringException">The process or the system has no descriptor left.</exception>
    [SupportedOSPlatform("linux")]
    public static KernelPipe Create(int capacity)
    {
        ArgumentOutOfRangeException.ThrowIfNegativeOrZero(capacity);
        int* ends = stackalloc int[2];

        // SAFETY: the kernel writes two descriptors to this frame during the call.
        if (Libc.CreatePipe(ends, LibcConstants.CloseOnExec | LibcConstants.NonBlocking) < 0)
        {
            throw new IoUringException("pipe2", (Errno)Libc.LastError);
        }

        int granted = Libc.ControlDescriptor(ends[1], LibcConstants.SetPipeCapacity, capacity);
        return new KernelPipe(ends[0], ends[1])
        {
            Capacity = granted >= 0 ? granted : Libc.ControlDescriptor(ends[1], LibcConstants.GetPipeCapacity, 0),
        };
    }

    /// <summary>Takes what a socket has received.</summary>
    /// <param name="socket">A connected stream socket.</param>
    /// <param name="count">The most bytes, 1 or more.</param>
    /// <returns>
    /// Bytes taken, 1 or more; 0 at the end of the stream; or -errno: EAGAIN if there is nothing, the pipe is full, or
    /// the next byte is urgent data, EBADF if the pipe is disposed.
    /// </returns>
    public int Receive(int socket, int count) => Splice(socket, isToSocket: false, count);

    /// <summary>Gives bytes to a socket, as many as its send buffer takes.</summary>
    /// <param name="socket">A connected stream socket.</param>
    /// <param name="count">The most bytes, 1 or more, and no more than the pipe has.</param>
    /// <returns>
    /// Bytes given, 1 or more; or -errno: EAGAIN if the send buffer takes nothing, EBADF if the pipe is disposed.
    /// </returns>
    public int Send(int socket, int count) => Splice(socket, isToSocket: true, count);

    /// <inheritdoc/>
    protected override bool ReleaseHandle()
    {
        bool isClosed = Libc.Close((int)handle) == 0;
        return Libc.Close(_input) == 0 && isClosed;
    }

    private int Splice(int socket, bool isToSocket, int count)
    {
        try
        {
            using HeldDescriptor output = new(this);
            using NonBlockingCall call = new(socket);
            nint moved = isToSocket
                ? Libc.Splice(output.Number, null, socket, null, (nuint)count, LibcConstants.SpliceWithoutWaiting)
                : Libc.Splice(socket, null, _input, null, (nuint)count, LibcConstants.SpliceWithoutWaiting);
            return moved >= 0 ? (int)moved : -Libc.LastError;
        }
        catch (ObjectDisposedException)
        {
            return -(int)Errno.EBADF;
        }
    }
}
