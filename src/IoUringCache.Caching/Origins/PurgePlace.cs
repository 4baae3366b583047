using System.Net;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Options;

namespace IoUringCache.Caching.Origins;

/// <summary>Where the keys of a route begin, and which clients may purge there by a method. Immutable; any thread.</summary>
/// <param name="Hosts">The client's host that keys begin with, in lower case, with <c>*.</c> for each host below; none: any host.</param>
/// <param name="Start">First bytes of the keys; behind the client's host, if they begin with it.</param>
/// <param name="From">Clients that may purge; empty: none.</param>
internal sealed record PurgePlace(IReadOnlyList<string> Hosts, string Start, PeerList From)
{
    /// <summary>Whether keys begin with the client's host.</summary>
    public bool HasClientHosts { get; init; }

    /// <summary>
    /// The same for purges of a route with hosts: a route for any host has no keys with the path of a route that has this host.
    /// </summary>
    public PurgePlace ForRoutesWithHosts() => Hosts.Count == 0 ? this with { HasClientHosts = false } : this;

    /// <summary>Whether a purge does not concern it, or the client may purge here.</summary>
    /// <param name="client">As <see cref="PeerList.PeerOf(ConnectionInfo)"/> has it.</param>
    /// <param name="prefix">Of the purged keys, which reach to another route if that begins below it; empty: any key.</param>
    public bool Allows(IPAddress? client, string prefix) => From.Contains(client) || !IsBelow(prefix);

    private bool IsBelow(string prefix)
    {
        if (prefix.Length == 0 || !HasClientHosts)
        {
            return Start.StartsWith(prefix, StringComparison.Ordinal);
        }

        string path = KeyPrefixes.PathOf(prefix);
        return Start.StartsWith(path, StringComparison.Ordinal) && (Hosts.Count == 0 || Hosts.Any(HasHost));

        bool HasHost(string host)
        {
            // With the dot of the root it is the same host.
            string asked = prefix[..^path.Length].Split(':')[0].TrimEnd('.');
            host = host.TrimEnd('.');
            return host.StartsWith('*') ? asked.EndsWith(host[1..], StringComparison.Ordinal) : asked == host;
        }
    }
}
