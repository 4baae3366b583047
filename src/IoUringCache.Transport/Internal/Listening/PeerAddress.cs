using System.Net;
using System.Net.Sockets;
using IoUringCache.Ring;

namespace IoUringCache.Transport.Internal.Listening;

/// <summary>Reads the addresses of a connected descriptor. Multishot accept has no room for them. Any thread.</summary>
internal static class PeerAddress
{
    /// <summary>Where the peer is; null if it has gone already.</summary>
    internal static EndPoint? RemoteOf(int socket, EndPoint family) => Read(socket, family, SocketDescriptor.GetPeerName);

    /// <summary>Where the peer found us.</summary>
    internal static EndPoint? LocalOf(int socket, EndPoint family) => Read(socket, family, SocketDescriptor.GetLocalName);

    private delegate int Query(int socket, Span<byte> address);

    private static EndPoint? Read(int socket, EndPoint family, Query query)
    {
        // The largest kind that listens here: a Unix address.
        SocketAddress address = new(AddressFamily.Unix);
        int length = query(socket, address.Buffer.Span);
        if (length < 0)
        {
            return null;
        }

        address.Size = length;
        return family.Create(address);
    }
}
