using System.Net.Sockets;
using IoUringCache.Ring;

namespace IoUringCache.Transport.Internal.Connecting;

/// <summary>
/// The exception for an error of connect(2) or socket(2): the one that a <see cref="Socket"/> throws. Any thread.
/// </summary>
internal static class ConnectError
{
    internal static SocketException ToException(Errno error) => new((int)(error switch
    {
        Errno.EACCES or Errno.EPERM => SocketError.AccessDenied,
        Errno.EADDRINUSE => SocketError.AddressAlreadyInUse,
        Errno.EADDRNOTAVAIL or Errno.ENOENT => SocketError.AddressNotAvailable,
        Errno.EAFNOSUPPORT => SocketError.AddressFamilyNotSupported,
        Errno.ECONNABORTED => SocketError.ConnectionAborted,
        Errno.ECONNREFUSED => SocketError.ConnectionRefused,
        Errno.ECONNRESET => SocketError.ConnectionReset,
        Errno.EFAULT => SocketError.Fault,
        Errno.EHOSTDOWN => SocketError.HostDown,
        Errno.EHOSTUNREACH => SocketError.HostUnreachable,
        Errno.EINVAL => SocketError.InvalidArgument,
        Errno.EMFILE or Errno.ENFILE => SocketError.TooManyOpenSockets,
        Errno.ENETDOWN => SocketError.NetworkDown,
        Errno.ENETUNREACH => SocketError.NetworkUnreachable,
        Errno.ENOBUFS or Errno.ENOMEM => SocketError.NoBufferSpaceAvailable,
        Errno.EOPNOTSUPP => SocketError.OperationNotSupported,
        Errno.EPIPE => SocketError.Shutdown,
        Errno.EPROTOTYPE => SocketError.ProtocolType,
        Errno.ETIMEDOUT => SocketError.TimedOut,
        _ => SocketError.SocketError,
    }));
}
