using System.Net;
using System.Net.Sockets;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Options;
using Microsoft.Extensions.Primitives;

namespace IoUringCache.Caching.Serving;

/// <summary>
/// The fields by which a pass tells the origin who asked, and over which scheme: <c>X-Forwarded-For</c>, <c>X-Forwarded-Proto</c> and
/// <c>Forwarded</c> (RFC 7239). Any thread.
/// </summary>
internal static class ForwardingFields
{
    private const string For = "X-Forwarded-For";
    private const string Proto = "X-Forwarded-Proto";
    private const string Forwarded = "Forwarded";

    /// <summary>What stands for a peer without an address: the client of a Unix socket (RFC 7239 6.2).</summary>
    private const string Unknown = "unknown";

    /// <summary>
    /// Adds them to a request to the origin. A trusted proxy's lists get this hop appended, and its scheme is kept, because the client asked
    /// over that one. Any other client could make them up, so the origin gets this hop alone.
    /// </summary>
    /// <param name="fields">Fields of the request to the origin, so far without these.</param>
    public static void Add(List<HeaderField> fields, HttpContext context, PeerList trusted)
    {
        HttpRequest request = context.Request;
        IPAddress? peer = PeerList.PeerOf(context.Connection);
        string address = NameOf(peer);
        if (!trusted.Contains(peer))
        {
            fields.Add(new(For, address));
            fields.Add(new(Proto, request.Scheme));
            return;
        }

        fields.Add(new(For, Append(request.Headers[For], address)));
        fields.Add(new(Proto, request.Headers[Proto] is var scheme && StringValues.IsNullOrEmpty(scheme) ? request.Scheme : scheme));
        if (request.Headers[Forwarded] is var elements && !StringValues.IsNullOrEmpty(elements))
        {
            string node = peer?.AddressFamily == AddressFamily.InterNetworkV6 ? $"\"[{address}]\"" : address;
            fields.Add(new(Forwarded, Append(elements, $"for={node};proto={request.Scheme}")));
        }
    }

    /// <summary>
    /// Who asked, as far as proxies in front are believed: the last address of <c>X-Forwarded-For</c> that is not one of theirs; of a peer that is
    /// no trusted proxy its own.
    /// </summary>
    public static string ClientOf(HttpContext context, PeerList trusted)
    {
        TryFindClient(context, trusted, out IPAddress? client);
        return NameOf(client);
    }

    /// <inheritdoc cref="ClientOf"/>
    /// <param name="client">The client; <see langword="null"/> for that of a Unix socket.</param>
    /// <returns>False if a proxy names something else than an address: <paramref name="client"/> is then that proxy.</returns>
    public static bool TryFindClient(HttpContext context, PeerList trusted, out IPAddress? client)
    {
        client = PeerList.PeerOf(context.Connection);
        if (trusted.IsEmpty || !trusted.Contains(client))
        {
            return true;
        }

        string[] hops = context.Request.Headers[For].ToString().Split(',', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries);
        for (int index = hops.Length - 1; index >= 0 && trusted.Contains(client); index--)
        {
            if (!IPEndPoint.TryParse(hops[index], out IPEndPoint? hop))
            {
                return false;
            }

            client = PeerList.PeerOf(hop);
        }

        return true;
    }

    private static string NameOf(IPAddress? client) => client?.ToString() ?? Unknown;

    private static StringValues Append(StringValues list, string own) => StringValues.IsNullOrEmpty(list) ? own : StringValues.Concat(list, own);
}
