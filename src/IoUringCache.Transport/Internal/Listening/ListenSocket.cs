using System.Net;
using System.Net.Sockets;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Transport.Internal.Listening;

/// <summary>Makes the listening socket of an end point.</summary>
internal static class ListenSocket
{
    /// <summary><c>IPPROTO_TCP</c>, <c>TCP_CONGESTION</c> and <c>TCP_CA_NAME_MAX</c>: tcp(7).</summary>
    private const int TcpLevel = 6, CongestionOption = 13, LongestCongestionName = 16;

    /// <summary>Binds and listens.</summary>
    /// <exception cref="AddressInUseException">Another socket is bound there.</exception>
    internal static Socket Open(EndPoint endPoint, IoUringTransportOptions options)
    {
        Socket socket;
        try
        {
            socket = options.CreateBoundListenSocket(endPoint);
        }
        catch (SocketException exception) when (exception.SocketErrorCode == SocketError.AddressAlreadyInUse)
        {
            throw new AddressInUseException(exception.Message, exception);
        }

        try
        {
            if (socket.LocalEndPoint is IPEndPoint)
            {
                // Linux hands the listener's setting down to what it accepts: one call instead of one per connection.
                socket.NoDelay = options.NoDelay;
            }

            socket.Listen(options.Backlog);
            return socket;
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }

    /// <summary>
    /// Whether TCP paces what the connections of a listener send (BBR): they inherit its congestion control, and BBR
    /// alone has each segment wait for a timer.
    /// </summary>
    internal static bool IsPaced(Socket listenSocket)
    {
        Span<byte> name = stackalloc byte[LongestCongestionName];
        try
        {
            int length = listenSocket.GetRawSocketOption(TcpLevel, CongestionOption, name);
            return name[..length].StartsWith("bbr"u8);
        }
        catch (SocketException)
        {
            return false; // Not TCP.
        }
    }
}
