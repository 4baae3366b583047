using System.Net;
using IoUringCache.Caching.Options;
using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace CachingService.Options;

/// <summary>Which proxies begin connections with a PROXY header, and at which public addresses. Immutable; any thread.</summary>
/// <param name="Proxies">Not empty.</param>
/// <param name="Urls">Some of the public addresses, as they are written there; none means all.</param>
internal sealed record ProxyProtocolOptions(PeerList Proxies, IReadOnlyList<string> Urls)
{
    /// <returns><see langword="null"/> where no proxy is named.</returns>
    /// <exception cref="OptionException">A value is not valid, or names an address that is not public.</exception>
    public static ProxyProtocolOptions? Read(IConfiguration configuration, string[] urls)
    {
        PeerList proxies = OptionCatalog.ProxyProtocolFrom.Read(configuration);
        string[] own = OptionCatalog.ProxyProtocolUrls.Read(configuration);
        if (own.FirstOrDefault(url => !urls.Contains(url)) is { } other)
        {
            throw new OptionException(
                $"Option {OptionCatalog.ProxyProtocolUrls.Name}: '{other}' is not among {OptionCatalog.Urls.Name} ('{string.Join(';', urls)}').");
        }

        return !proxies.IsEmpty ? new(proxies, own)
            : own.Length == 0 ? null
            : throw new OptionException(
                $"Option {OptionCatalog.ProxyProtocolUrls.Name}: needs {OptionCatalog.ProxyProtocolFrom.Name}, the proxies whose headers count.");
    }

    /// <summary>The same proxies and addresses.</summary>
    public bool Equals(ProxyProtocolOptions? other) =>
        other is not null && Proxies.ToString() == other.Proxies.ToString() && Urls.SequenceEqual(other.Urls);

    public override int GetHashCode() => HashCode.Combine(Proxies.ToString(), Urls.Count);

    /// <summary>Whether connections to a public address begin with the header.</summary>
    public bool Covers(string url) =>
        BindingAddress.Parse(url) is var bound && Covers(ListenUrls.PathOf(bound), ListenUrls.EndPointOf(bound));

    /// <inheritdoc cref="Covers(string)"/>
    /// <param name="endpoint">As Kestrel makes it of one of the addresses, or of a socket that it was given.</param>
    public bool Covers(ListenOptions endpoint) => Covers(endpoint.SocketPath, endpoint.IPEndPoint);

    private bool Covers(string? path, IPEndPoint? bound) =>
        Urls.Count == 0 || Urls.Select(BindingAddress.Parse).Any(url => ListenUrls.IsAt(url, path, bound));
}
