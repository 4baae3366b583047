using System.Net;
using IoUringCache.Ring;

namespace IoUringCache.Transport.Internal.Connections;

/// <summary>
/// Reads the addresses of a connected descriptor, which neither accept nor connect returns. Any thread.
/// </summary>
internal static class SocketAddresses
{
    /// <summary>Bytes of the largest address of any kind (<c>sockaddr_storage</c>).</summary>
    private const int AnyAddressBytes = 128;

    /// <summary>
    /// Bytes of the largest address in use here, <c>sockaddr_un</c>. For a path that fills it the kernel reports
    /// one byte more, the NUL behind it, which such an address leaves out.
    /// </summary>
    private const int LargestAddressBytes = 110;

    private delegate int Query(int socket, Span<byte> address);

    /// <summary>The peer's address; null if the peer has reset the connection.</summary>
    internal static EndPoint? RemoteOf(int socket, EndPoint family) => Read(socket, family, SocketDescriptor.GetPeerName);

    /// <summary>The local address.</summary>
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
