using System.Globalization;
using System.Text;

namespace CachingService.Tests.Infrastructure;

/// <summary>One connection that asks for the same in any version of HTTP, with and without TLS, one request after the other.</summary>
internal sealed class VersionedClient : IAsyncDisposable
{
    private readonly RawClient? _raw;
    private readonly Http2Client? _http2;

    private VersionedClient(string version, RawClient? raw, Http2Client? http2) => (Version, _raw, _http2) = (version, raw, http2);

    /// <summary><c>1.0</c>, <c>1.1</c> and <c>2</c>, and the same behind <c>TLS </c>.</summary>
    public static IReadOnlyList<string> Versions { get; } = ["1.0", "1.1", "2", "TLS 1.0", "TLS 1.1", "TLS 2"];

    public string Version { get; }

    public bool IsHttp2 => _http2 is not null;

    /// <summary>There are no chunks.</summary>
    public bool IsHttp10 => Version.EndsWith("1.0", StringComparison.Ordinal);

    /// <summary>The connection of HTTP/1.x.</summary>
    public RawClient Raw => _raw!;

    /// <summary>What a service that is to speak this version is started with.</summary>
    public static string[] OptionsFor(string version, TestCertificate certificate) =>
        [
            .. version.StartsWith("TLS", StringComparison.Ordinal) ? certificate.Options : [],
            .. version == "2" ? (string[])["--Protocols=Http2"] : [],
        ];

    public static async Task<VersionedClient> ConnectAsync(string url, string version) => version.EndsWith('2')
        ? new(version, null, new Http2Client(url))
        : new(version, await RawClient.ConnectAsync(url), null);

    /// <summary>Sends a request and returns when the head of its answer has come.</summary>
    /// <param name="target">Path.</param>
    /// <param name="method">Of the request.</param>
    /// <param name="fields">Lines, each ended by CRLF.</param>
    public async Task<VersionedAnswer> SendAsync(string target, string method = "GET", string fields = "")
    {
        if (_http2 is not null)
        {
            (string, string)[] pairs =
                [.. fields.Split("\r\n", StringSplitOptions.RemoveEmptyEntries).Select(line => (line.Split(": ")[0], line.Split(": ")[1]))];
            return new(await _http2.GetAsync(target, HttpMethod.Parse(method), pairs), null, null);
        }

        await Raw.SendAsync(target, (IsHttp10 ? "Connection: keep-alive\r\n" : "") + fields, method, IsHttp10 ? "HTTP/1.0" : "HTTP/1.1");
        RawResponse head = await Raw.ReadHeadAsync();
        return new(null, head, method == "HEAD" || head.Status == 304 ? () => Task.FromResult(("", true)) : () => ReadBodyAsync(head));
    }

    /// <summary>The connection takes another request, and is the one that there was.</summary>
    public async Task IsUsableAsync()
    {
        VersionedAnswer answer = await SendAsync("/health");
        Assert.Equal(("OK", true), await answer.ReadAsync());
        Assert.True(_http2 is null or { Connections: 1 }, "There is a second connection.");
    }

    public ValueTask DisposeAsync()
    {
        _http2?.Dispose();
        return _raw?.DisposeAsync() ?? ValueTask.CompletedTask;
    }

    private async Task<(string Body, bool IsWhole)> ReadBodyAsync(RawResponse head)
    {
        StringBuilder body = new();
        try
        {
            if (head["Content-Length"] is { } length)
            {
                while (body.Length < int.Parse(length, CultureInfo.InvariantCulture))
                {
                    body.Append(await Raw.ReadExactlyAsync(1));
                }
            }
            else if (head["Transfer-Encoding"] is not null)
            {
                while (await Raw.ReadChunkAsync() is { Length: > 0 } chunk)
                {
                    body.Append(chunk);
                }
            }
            else
            {
                body.Append(await Raw.ReadToCloseAsync());
                return (body.ToString(), !Raw.IsReset);
            }

            return (body.ToString(), true);
        }
        catch (IOException)
        {
            return (body.ToString(), false);
        }
    }
}
