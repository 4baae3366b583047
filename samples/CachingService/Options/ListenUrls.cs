using System.Net;

namespace CachingService.Options;

/// <summary>Compares listen addresses, as options write them, with what sockets are bound to. No state; any thread.</summary>
internal static class ListenUrls
{
    /// <summary>True for the address of an endpoint.</summary>
    /// <param name="url">A listen address. One with port 0 is of every port.</param>
    /// <param name="path">Of the endpoint's Unix socket, if it is one.</param>
    /// <param name="bound">What the endpoint is bound to, unless it is a Unix socket.</param>
    public static bool IsAt(BindingAddress url, string? path, IPEndPoint? bound) =>
        url.IsUnixPipe ? PathOf(url) == path
        : bound is not null && EndPointOf(url) is var own && own.Address.Equals(bound.Address) && (own.Port == 0 || own.Port == bound.Port);

    /// <summary>The path of a Unix socket; <see langword="null"/> for other addresses.</summary>
    public static string? PathOf(BindingAddress url) => url.IsUnixPipe ? url.UnixPipePath : null;

    /// <summary>As Kestrel reads it: it listens on all addresses for a name other than <c>localhost</c>.</summary>
    public static IPEndPoint EndPointOf(BindingAddress url) => new(
        IPAddress.TryParse(url.Host, out IPAddress? host) ? host
        : url.Host.Equals("localhost", StringComparison.OrdinalIgnoreCase) ? IPAddress.Loopback
        : IPAddress.IPv6Any,
        url.Port);
}
