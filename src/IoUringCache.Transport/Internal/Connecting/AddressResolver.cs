using System.Net;
using System.Net.Sockets;

namespace IoUringCache.Transport.Internal.Connecting;

/// <summary>Finds the addresses of a name, in the order in which they are tried. Any thread; no state.</summary>
internal static class AddressResolver
{
    /// <summary>Resolves the host of an end point; an address in its place is taken as it is.</summary>
    /// <exception cref="SocketException">The name has no address, or the resolver failed.</exception>
    internal static async Task<IReadOnlyList<IPEndPoint>> ResolveAsync(
        DnsEndPoint endPoint, Func<string, AddressFamily, CancellationToken, Task<IPAddress[]>> resolve, CancellationToken cancellationToken)
    {
        if (IPAddress.TryParse(endPoint.Host, out IPAddress? literal))
        {
            return [new IPEndPoint(literal, endPoint.Port)];
        }

        IPAddress[] addresses = await resolve(endPoint.Host, endPoint.AddressFamily, cancellationToken).ConfigureAwait(false);
        return addresses.Length == 0
            ? throw new SocketException((int)SocketError.HostNotFound)
            : Interleave(addresses, endPoint.Port);
    }

    /// <summary>
    /// Lets the families take turns, each in the resolver's order and first the family of the first address (RFC 8305
    /// section 4, First Address Family Count of 1).
    /// </summary>
    internal static IReadOnlyList<IPEndPoint> Interleave(IPAddress[] addresses, int port)
    {
        List<IPEndPoint>[] families =
        [
            .. addresses.GroupBy(static address => address.AddressFamily)
                .Select(family => family.Select(address => new IPEndPoint(address, port)).ToList()),
        ];
        return [.. Enumerable.Range(0, families.Max(static family => family.Count))
            .SelectMany(rank => families.Where(family => rank < family.Count).Select(family => family[rank]))];
    }
}
