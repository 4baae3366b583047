using System.Net;
using System.Net.Sockets;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Transport.Internal.Listening;

/// <summary>Makes the listening socket of an end point.</summary>
internal static class ListenSocket
{
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
}
