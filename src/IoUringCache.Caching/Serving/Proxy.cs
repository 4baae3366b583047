using System.Security.Cryptography;
using IoUringCache.Caching.Http;
using Microsoft.Net.Http.Headers;

namespace IoUringCache.Caching.Serving;

/// <summary>This process as a hop: what it adds to <c>Via</c>, and how it knows its own requests again. Immutable; any thread.</summary>
internal sealed class Proxy
{
    private readonly string _name;

    /// <summary>This hop in <c>Via</c>, by the version of HTTP over which it got the message.</summary>
    private readonly string _overHttp2;
    private readonly string _overHttp10;
    private readonly string _overHttp11;

    public Proxy(string name)
    {
        _name = $"{name.ToLowerInvariant()}-{RandomNumberGenerator.GetHexString(12, lowercase: true)}";
        (_overHttp2, _overHttp10, _overHttp11) = ("2 " + _name, "1.0 " + _name, "1.1 " + _name);
    }

    /// <summary>True for a request that has been here before: it would wait for itself.</summary>
    public bool IsLoop(IHeaderDictionary request) => request.Via.ToString().Contains(_name, StringComparison.Ordinal);

    /// <summary>Adds <c>Via</c> to a request to the origin (RFC 9110 7.6.3).</summary>
    public void Sign(List<HeaderField> fields, HttpRequest request)
    {
        string before = request.Headers.Via.ToString();
        string own = HttpProtocol.IsHttp2(request.Protocol) ? _overHttp2 : HttpProtocol.IsHttp10(request.Protocol) ? _overHttp10 : _overHttp11;
        fields.Add(new(HeaderNames.Via, before.Length > 0 ? $"{before}, {own}" : own));
    }

    /// <summary>Adds <c>Via</c> to an origin's response, which came over HTTP/1.1.</summary>
    public void Sign(IHeaderDictionary response) => response.Append(HeaderNames.Via, _overHttp11);
}
