using System.Globalization;
using System.Net;
using IoUringCache.Transport.Tests.Support;
using Protocol.Tests.Support;

namespace Protocol.Tests.Http2;

/// <summary>What samples/PlaintextServer speaks, by scheme and --Protocols: measurements rely on it.</summary>
public sealed class PlaintextServerTests
{
    private static readonly Version s_http1 = HttpVersion.Version11;
    private static readonly Version s_http2 = HttpVersion.Version20;

    [Theory]
    [InlineData("http", "Http1AndHttp2", 1)]
    [InlineData("http", "Http1", 1)]
    [InlineData("http", "Http2", 2)]
    [InlineData("https", "Http1AndHttp2", 2)]
    [InlineData("https", "Http1", 1)]
    [InlineData("https", "Http2", 2)]
    public async Task Health_BySchemeAndProtocols_IsAnsweredInThatVersion(string scheme, string protocols, int major)
    {
        await using ServerProcess server = await ServerProcess.StartAsync(TransportKind.ThreadPool, scheme, "--Protocols", protocols);
        using HttpClient client = CreateClient(server.Address);

        // With TLS the two negotiate; without it the client must know.
        using HttpRequestMessage request = new(HttpMethod.Get, "/health")
        {
            Version = scheme == "https" || major == 2 ? s_http2 : s_http1,
            VersionPolicy = scheme == "https" ? HttpVersionPolicy.RequestVersionOrLower : HttpVersionPolicy.RequestVersionExact,
        };
        using HttpResponseMessage response = await client.SendAsync(request).InTime();
        Assert.Equal(major == 2 ? s_http2 : s_http1, response.Version);
        Assert.Equal("OK", await response.Content.ReadAsStringAsync().InTime());
    }

    [Theory]
    [InlineData(1)]
    [InlineData(3)]
    public async Task Loops_AsManyAsAskedFor(int count)
    {
        await using ServerProcess server = await ServerProcess.StartAsync(
            TransportKind.Inline, Uri.UriSchemeHttp, "--Loops", count.ToString(CultureInfo.InvariantCulture));
        Assert.Equal(count, server.ThreadNames.Count(name => name.StartsWith("io_uring loop ", StringComparison.Ordinal)));
    }

    [Theory]
    [InlineData("--Loops", "0")]
    [InlineData("--Loops", "129")]
    [InlineData("--Loops", "+2")]
    [InlineData("--WaitForData", "maybe")]
    [InlineData("--unknown", "value")]
    public async Task Options_Wrong_AreNamed(string option, string value)
    {
        ToolResult result = await Tool.RunAsync("dotnet", Path.Combine(AppContext.BaseDirectory, "PlaintextServer.dll"), option, value);
        Assert.Equal(2, result.ExitCode);
        Assert.Contains($"{option}: ", result.Error, StringComparison.Ordinal);
    }

    /// <summary>The certificate is the server's own, so nobody vouches for it.</summary>
    private static HttpClient CreateClient(Uri address)
    {
        SocketsHttpHandler handler = new();
        handler.SslOptions.RemoteCertificateValidationCallback = static (_, _, _, _) => true;
        return new(handler) { BaseAddress = address, Timeout = Deadline.Limit };
    }
}
