using System.Net.Sockets;
using IoUringCache.Ring.Files;

namespace CachingService.Listening;

/// <summary>The process at the other end of a Unix socket, as the kernel knows it (<c>SO_PEERCRED</c>, unix(7)). Immutable.</summary>
/// <param name="ProcessId">0 for a process of a namespace that this one does not see.</param>
/// <param name="UserId">Its effective user when it connected, or listened.</param>
internal readonly record struct PeerCredentials(int ProcessId, uint UserId)
{
    private const int SocketLevel = 1, CredentialsOption = 17, Bytes = 12;

    /// <summary>True for the user that this process runs as.</summary>
    public bool IsSameUser => UserId == FileStatus.ProcessUserId;

    /// <exception cref="SocketException">The socket is not connected.</exception>
    public static PeerCredentials Of(Socket socket)
    {
        Span<byte> credentials = stackalloc byte[Bytes];
        socket.GetRawSocketOption(SocketLevel, CredentialsOption, credentials);
        return new(BitConverter.ToInt32(credentials), BitConverter.ToUInt32(credentials[sizeof(int)..]));
    }
}
