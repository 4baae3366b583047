using System.Globalization;
using System.Net;
using System.Net.Sockets;

namespace IoUringCache.Caching.Options;

/// <summary>Clients that an option lists by their address, such as proxies and caches in front. Immutable; any thread.</summary>
internal sealed class PeerList
{
    private const string UnixSockets = "unix";

    /// <summary>Bits before the IPv4 address in its form of IPv6 (RFC 4291 2.5.5.2).</summary>
    private const int MappedPrefix = 96;

    private readonly IPNetwork[] _networks;
    private readonly bool _hasUnixSockets;

    private PeerList(IPNetwork[] networks, bool hasUnixSockets) => (_networks, _hasUnixSockets) = (networks, hasUnixSockets);

    /// <summary>
    /// Reads addresses (<c>192.0.2.1</c>, <c>::1</c>), networks (<c>10.0.0.0/8</c>, <c>fd00::/8</c>) and the word <c>unix</c>, which stands for
    /// every client of a Unix socket. Semicolons separate them. An empty text lists no client.
    /// </summary>
    /// <exception cref="FormatException">A part is none of these.</exception>
    public static PeerList Parse(string text)
    {
        string[] parts = text.Split(';', StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries);
        string[] networks = [.. parts.Where(part => part != UnixSockets)];
        return new(Array.ConvertAll(networks, ParseNetwork), networks.Length < parts.Length);
    }

    /// <summary>As <see cref="Parse"/> reads it.</summary>
    public override string ToString() =>
        string.Join(';', _networks.Select(static network => network.ToString()).Concat(_hasUnixSockets ? [UnixSockets] : Array.Empty<string>()));

    public bool IsEmpty => _networks.Length == 0 && !_hasUnixSockets;

    /// <summary>The client's end of a connection; an IPv4 client of a socket for both families has its IPv4 address.</summary>
    /// <returns><see langword="null"/> for the client of a Unix socket.</returns>
    public static IPAddress? PeerOf(ConnectionInfo connection) => Unmapped(connection.RemoteIpAddress);

    /// <inheritdoc cref="PeerOf(ConnectionInfo)"/>
    public static IPAddress? PeerOf(EndPoint? remote) => Unmapped((remote as IPEndPoint)?.Address);

    /// <param name="peer">As <see cref="PeerOf(ConnectionInfo)"/> has it.</param>
    public bool Contains(IPAddress? peer)
    {
        if (peer is null)
        {
            return _hasUnixSockets;
        }

        foreach (IPNetwork network in _networks)
        {
            if (network.Contains(peer))
            {
                return true;
            }
        }

        return false;
    }

    private static IPAddress? Unmapped(IPAddress? address) => address is { IsIPv4MappedToIPv6: true } ? address.MapToIPv4() : address;

    private static IPNetwork ParseNetwork(string text)
    {
        string[] parts = text.Split('/', 2);
        return IPAddress.TryParse(parts[0], out IPAddress? address)

            // The framework reads 10.1 as 10.0.0.1, and 010.0.0.1 as 8.0.0.1.
            && (address.AddressFamily == AddressFamily.InterNetworkV6 || address.ToString() == parts[0])
            && PrefixOf(address, parts) is { } prefix
            ? UnmappedNetwork(address, prefix)
            : throw new FormatException($"expected addresses (192.0.2.1), networks (10.0.0.0/8) or {UnixSockets}, separated by semicolons.");
    }

    /// <summary>Clients are compared by their IPv4 address, where they have one.</summary>
    private static IPNetwork UnmappedNetwork(IPAddress address, int prefix) => address.IsIPv4MappedToIPv6 && prefix >= MappedPrefix
        ? new(address.MapToIPv4(), prefix - MappedPrefix)
        : new(address, prefix);

    /// <summary>Bits of the network; all of an address that stands alone; <see langword="null"/> where they are no number or too many.</summary>
    private static int? PrefixOf(IPAddress address, string[] parts)
    {
        int all = address.AddressFamily == AddressFamily.InterNetworkV6 ? 128 : 32;
        return parts.Length == 1 ? all
            : int.TryParse(parts[1], NumberStyles.None, CultureInfo.InvariantCulture, out int prefix) && prefix <= all ? prefix
            : null;
    }
}
