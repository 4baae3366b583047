using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Authentication;
using IoUringCache.Transport.Tests.Kestrel;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Hosting;
using Protocol.Tests.Support;

namespace Protocol.Tests.Tls;

/// <summary>What is negotiated: version, protocol, certificate.</summary>
public sealed class TlsVersionTests : IDisposable
{
    private const int Large = 1024 * 1024;

    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("protocol-");

    public static TheoryData<TransportKind> All => Transports.All;

    public static TheoryData<TransportKind, SslProtocols> AllVersions => TlsHosts.AllVersions;

    public void Dispose() => _folder.Delete(recursive: true);

    [Theory]
    [MemberData(nameof(AllVersions))]
    public async Task HttpClient_OfOneVersion_ServedWithIt(TransportKind kind, SslProtocols version)
    {
        await using KestrelHost host = await TlsHosts.StartAsync(kind);
        using HttpClient client = TlsHosts.CreateClient(host, TlsHosts.ClientOptions(version));
        Assert.Equal(version.ToString(), await client.GetStringAsync("/tls").InTime());
        byte[] body = Payload.Of(Large);
        using ByteArrayContent content = new(body);
        using HttpResponseMessage digest = await client.PostAsync("/digest", content).InTime();
        Assert.Equal(WebEndpoints.DigestOf(body), await digest.Content.ReadAsStringAsync().InTime());
        Payload.AssertEqual(body, await client.GetByteArrayAsync($"/chunks/{Large}/5000").InTime());
    }

    [Theory]
    [MemberData(nameof(AllVersions))]
    public async Task Curl_OfOneVersion_VerifiesTheServerAndIsServed(TransportKind kind, SslProtocols version)
    {
        await using KestrelHost host = await TlsHosts.StartAsync(kind);
        string number = version == SslProtocols.Tls12 ? "1.2" : "1.3";
        ToolResult result = await CurlAsync($"--tlsv{number}", "--tls-max", number, $"https://localhost:{host.Address.Port}/tls");
        Assert.Equal(version.ToString(), result.Succeeded().Text);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Client_OfAVersionThatIsOff_IsRefusedAndTheNextIsServed(TransportKind kind)
    {
        await using KestrelHost host = await TlsHosts.StartAsync(kind, https => https.SslProtocols = SslProtocols.Tls13);
        using HttpClient old = TlsHosts.CreateClient(host, TlsHosts.ClientOptions(SslProtocols.Tls12));
        HttpRequestException refusal = await Assert.ThrowsAsync<HttpRequestException>(() => old.GetStringAsync("/tls").InTime());
        Assert.IsType<AuthenticationException>(refusal.InnerException);
        using HttpClient client = TlsHosts.CreateClient(host, TlsHosts.ClientOptions());
        Assert.Equal("Tls13", await client.GetStringAsync("/tls").InTime());
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Alpn_OfWhatTheClientOffers_ChoosesTheBest(TransportKind kind)
    {
        await using KestrelHost host = await TlsHosts.StartAsync(kind);
        Assert.Equal(SslApplicationProtocol.Http2, await NegotiateAsync(host, SslApplicationProtocol.Http11, SslApplicationProtocol.Http2));
        Assert.Equal(SslApplicationProtocol.Http11, await NegotiateAsync(host, SslApplicationProtocol.Http11));
        Assert.Equal(default, await NegotiateAsync(host));
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Alpn_OfOneEndPoint_ServesBothVersionsOfHttp(TransportKind kind)
    {
        await using KestrelHost host = await TlsHosts.StartAsync(kind);
        string url = $"https://localhost:{host.Address.Port}/protocol";
        Assert.Equal("HTTP/2", (await CurlAsync("--http2", url)).Succeeded().Text);
        Assert.Equal("HTTP/1.1", (await CurlAsync("--http1.1", url)).Succeeded().Text);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Sni_OfEachName_SelectsItsCertificate(TransportKind kind)
    {
        List<string?> asked = [];
        await using KestrelHost host = await KestrelHost.StartAsync(
            kind,
            TlsHosts.Map,
            endPoint => endPoint.UseHttps(https => https.ServerCertificateSelector = (_, name) =>
            {
                asked.Add(name);
                return Certificates.ForServer(name!);
            }));
        int port = host.Address.Port;
        foreach (string name in new[] { "one.test", "two.test" })
        {
            // curl checks that the certificate is for this name.
            ToolResult result = await CurlAsync("--resolve", $"{name}:{port}:127.0.0.1", $"https://{name}:{port}/protocol");
            Assert.Equal("HTTP/2", result.Succeeded().Text);
        }

        Assert.Equal(["one.test", "two.test"], asked);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Renegotiation_AskedByTheClient_IsRefused(TransportKind kind)
    {
        await using KestrelHost host = await TlsHosts.StartAsync(kind);
        ToolResult result = await Tool.RunAsync(
            "openssl", "R\n"u8.ToArray(), "s_client", "-connect", $"127.0.0.1:{host.Address.Port}", "-tls1_2");
        string[] parts = result.Error.Split("RENEGOTIATING");
        Assert.True(parts.Length == 2, result.Error);

        // A second handshake would look at the certificate again. The server ends the connection instead.
        Assert.Contains("verify return", parts[0], StringComparison.Ordinal);
        Assert.DoesNotContain("verify return", parts[1], StringComparison.Ordinal);
        Assert.NotEqual(0, result.ExitCode);
    }

    [Theory]
    [MemberData(nameof(AllVersions))]
    public async Task Openssl_OfOneVersion_IsAnswered(TransportKind kind, SslProtocols version)
    {
        await using KestrelHost host = await TlsHosts.StartAsync(kind);
        ToolResult result = await Tool.RunAsync(
            "openssl",
            "GET /bytes/100000 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"u8.ToArray(),
            "s_client", "-quiet", "-connect", $"127.0.0.1:{host.Address.Port}", version == SslProtocols.Tls12 ? "-tls1_2" : "-tls1_3");
        Assert.StartsWith("HTTP/1.1 200 OK\r\n", result.Text, StringComparison.Ordinal);
        Payload.AssertEqual(Payload.Of(100_000), result.Output[^100_000..]);
    }

    private static async Task<SslApplicationProtocol> NegotiateAsync(KestrelHost host, params List<SslApplicationProtocol> offered)
    {
        using Socket socket = new(SocketType.Stream, ProtocolType.Tcp);
        await socket.ConnectAsync(IPAddress.Loopback, host.Address.Port).InTime();
        await using SslStream stream = new(new NetworkStream(socket));
        SslClientAuthenticationOptions options = TlsHosts.ClientOptions();
        options.ApplicationProtocols = offered;
        await stream.AuthenticateAsClientAsync(options).InTime();
        return stream.NegotiatedApplicationProtocol;
    }

    private Task<ToolResult> CurlAsync(params string[] arguments)
    {
        string authority = Path.Combine(_folder.FullName, "authority.pem");
        File.WriteAllText(authority, Certificates.Authority.ExportCertificatePem());
        return Tool.RunAsync("curl", ["--silent", "--show-error", "--fail", "--noproxy", "*", "--cacert", authority, .. arguments]);
    }
}
