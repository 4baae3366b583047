using System.Net;
using IoUringCache.Ring;

namespace IoUringCache.Transport.Internal.Listening;

/// <summary>Reads the addresses of a connected descriptor. Multishot accept has no room for them. Any thread.</summary>
internal static class PeerAddress
{
    /// <summary>Room for every kind of address (<c>sockaddr_storage</c>).</summary>
    private const int AnyAddressBytes = 128;

    /// <summary>
    /// The largest kind that listens here, <c>sockaddr_un</c>. The kernel reports one byte more for a path that fills it: the NUL
    /// behind it, which whoever named the socket did not need to have room for.
    /// </summary>
    private const int LargestAddressBytes = 110;

    private delegate int Query(int socket, Span<byte> address);

    /// <summary>Where the peer is; null if it has gone already.</summary>
    internal static EndPoint? RemoteOf(int socket, EndPoint family) => Read(socket, family, SocketDescriptor.GetPeerName);

    /// <summary>Where the peer found us.</summary>
    internal static EndPoint? LocalOf(int socket, EndPoint family) => Read(socket, family, SocketDescriptor.GetLocalName);

    private static EndPoint? Read(int socket, EndPoint family, Query query)
    {
        SocketAddress address = new(family.AddressFamily, AnyAddressBytes);
        int length = query(socket, address.Buffer.Span);
        if (length < 0)
        {
            return null;
        }

        address.Size = Math.Min(length, LargestAddressBytes);
        return family.Create(address);
    }
}
