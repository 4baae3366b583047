using IoUringCache.Ring.Native;

namespace IoUringCache.Ring;

/// <summary>
/// Makes a socket non-blocking for one system call that has no flag for that. Afterwards it is blocking again, because
/// operations of a ring on a non-blocking descriptor complete with EAGAIN; none may be submitted meanwhile. The caller's
/// thread; lives in the caller's frame.
/// </summary>
internal readonly ref struct NonBlockingCall : IDisposable
{
    private readonly int _socket;

    internal NonBlockingCall(int socket)
    {
        _socket = socket;
        _ = Libc.ControlDescriptor(socket, LibcConstants.SetDescriptorFlags, LibcConstants.NonBlocking);
    }

    public void Dispose() => _ = Libc.ControlDescriptor(_socket, LibcConstants.SetDescriptorFlags, 0);
}
