using System.Diagnostics;
using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Cryptography.X509Certificates;
using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Serving;

/// <summary>What TLS on the public address adds; that objects come through it as they do without is in <see cref="VersionTests"/>.</summary>
public sealed class TlsTests
{
    public static TheoryData<string> EachTransport => new() { TestService.Transport, "Sockets" };

    [Theory]
    [MemberData(nameof(EachTransport))]
    public async Task Version_IsChosenByAlpnAndMayBeRestricted(string transport)
    {
        using TestCertificate certificate = new();
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        foreach ((string option, string chosen) in ((string, string)[])[("Http1AndHttp2", "h2"), ("Http1", "http/1.1"), ("Http2", "h2")])
        {
            await using TestService service = await TestService.StartAsync(
                origin.Url, [.. certificate.Options, $"--Transport={transport}", $"--Protocols={option}"]);
            using SslStream tls = await ConnectAsync(service);
            Assert.Equal(chosen, tls.NegotiatedApplicationProtocol.ToString());
        }
    }

    [Theory]
    [MemberData(nameof(EachTransport))]
    public async Task Pass_ThroughTls_TellsTheOriginSo(string transport)
    {
        using TestCertificate certificate = new();
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url, [.. certificate.Options, $"--Transport={transport}"]);

        Assert.Equal("x", (await service.FetchAsync("/object/a", "Cookie: a=b\r\n")).Body);

        Assert.Equal("https", Assert.Single(origin.Exchanges).Field("X-Forwarded-Proto"));
    }

    [Theory]
    [MemberData(nameof(EachTransport))]
    public async Task Certificate_ThatIsRenewed_IsServedToNewConnections(string transport)
    {
        using TestCertificate certificate = new();
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url, [.. certificate.Options, $"--Transport={transport}"]);
        await using RawClient old = await service.GetAsync("/object/a");
        await old.ReadAsync();
        string first = ReadThumbprint(certificate);
        Assert.Equal(first, await ServedAsync(service));

        certificate.Renew();
        Assert.Equal(first, await ServedAsync(service));
        service.Host.Reload();

        Assert.NotEqual(first, ReadThumbprint(certificate));
        Assert.Equal(ReadThumbprint(certificate), await ServedAsync(service));
        await old.SendAsync("/object/a");
        Assert.Equal("x", (await old.ReadAsync()).Body);

        // A second time, and without a signal.
        certificate.Renew();
        service.Time.Advance(ServerCertificates.Interval);
        await EventuallyServedAsync(service, ReadThumbprint(certificate));
        Assert.Empty(service.Log.Warnings);
    }

    [Fact]
    public async Task RenewedCertificate_ThatNoOptionNamesAnyMore_StaysInUse()
    {
        string settings = Path.GetTempFileName();
        try
        {
            using TestCertificate certificate = new();
            await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
            await File.WriteAllTextAsync(
                settings,
                $$"""{ "Kestrel": { "Certificates": { "Default": { "Path": "{{certificate.CertificateFile}}", "KeyPath": "{{certificate.KeyFile}}" } } } }""",
                TestContext.Current.CancellationToken);
            await using TestService service = await TestService.StartAsync(origin.Url, "--Urls=https://127.0.0.1:0", $"--Settings={settings}");
            certificate.Renew();
            service.Host.Reload();
            Assert.Equal(ReadThumbprint(certificate), await ServedAsync(service));

            await File.WriteAllTextAsync(settings, "{}", TestContext.Current.CancellationToken);
            service.Host.Reload();

            Assert.Equal(ReadThumbprint(certificate), await ServedAsync(service));
            Assert.Equal(
                "These options have other values now, which count after a restart: Kestrel:Certificates:Default", Assert.Single(service.Log.Warnings));
        }
        finally
        {
            File.Delete(settings);
        }
    }

    [Fact]
    public async Task Certificate_ThatIsWrong_LeavesTheOldOneInUse()
    {
        using TestCertificate certificate = new();
        using TestCertificate other = new();
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url, certificate.Options);
        string first = ReadThumbprint(certificate);

        // First the certificate is there, and its key has not come.
        File.Copy(other.CertificateFile, certificate.CertificateFile, overwrite: true);
        service.Time.Advance(ServerCertificates.Interval);
        await Eventually.TrueAsync(() => service.Log.Warnings.Count > 0, "it is said");
        service.Host.Reload();
        Assert.Equal(first, await ServedAsync(service));
        Assert.Collection(
            service.Log.Warnings,
            warning => Assert.StartsWith("Certificate files have changed and are not used: Option Kestrel:Certificates:Default:KeyPath:", warning, StringComparison.Ordinal),
            warning => Assert.Contains("Option Kestrel:Certificates:Default:KeyPath:", warning, StringComparison.Ordinal));

        File.Copy(other.KeyFile, certificate.KeyFile, overwrite: true);
        service.Time.Advance(ServerCertificates.Interval);
        await EventuallyServedAsync(service, ReadThumbprint(other));
    }

    [Fact]
    public async Task RenewedCertificate_WhileItIsEmpty_IsWaitedFor()
    {
        using TestCertificate certificate = new();
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url, certificate.Options);
        string first = await ServedAsync(service);

        File.Copy(certificate.EmptyFile, certificate.CertificateFile, overwrite: true);
        service.Time.Advance(ServerCertificates.Interval);
        await Eventually.TrueAsync(() => service.Log.Warnings.Count > 0, "it is said");
        Assert.Equal(first, await ServedAsync(service));

        certificate.Renew();
        service.Time.Advance(ServerCertificates.Interval);
        await EventuallyServedAsync(service, ReadThumbprint(certificate));
    }

    [Fact]
    public async Task RenewedArchive_WithoutAKey_IsNotUsed()
    {
        using TestCertificate certificate = new();
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(
            origin.Url, "--Urls=https://127.0.0.1:0", $"--Kestrel:Certificates:Default:Path={certificate.ArchiveFile}",
            $"--Kestrel:Certificates:Default:Password={TestCertificate.Password}");
        string first = await ServedAsync(service);

        File.Copy(certificate.KeylessArchiveFile, certificate.ArchiveFile, overwrite: true);
        service.Host.Reload();

        Assert.Contains(
            $"Option Kestrel:Certificates:Default:Path: '{certificate.ArchiveFile}' holds no private key.", Assert.Single(service.Log.Warnings), StringComparison.Ordinal);
        Assert.Equal(first, await ServedAsync(service));
    }

    [Theory]
    [MemberData(nameof(EachTransport))]
    public async Task Client_WithoutTls_IsTurnedAwayAndDisturbsNobody(string transport)
    {
        using TestCertificate certificate = new();
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url, [.. certificate.Options, $"--Transport={transport}"]);
        await using RawClient plain = await RawClient.StartAsync(service.Url.Replace("https", "http", StringComparison.Ordinal), "/object/a");

        Assert.DoesNotContain("HTTP/1.1 200", await plain.ReadToCloseAsync(), StringComparison.Ordinal);
        Assert.Equal("x", (await service.FetchAsync("/object/a")).Body);
        await service.IsAtRestAsync();
    }

    /// <summary>
    /// Kestrel never says close_notify, so a client on HTTP/1.0 knows a whole body of unknown length by the FIN and a broken one by the RST,
    /// as without TLS. That the tests would see it is shown by a server that does.
    /// </summary>
    [Fact]
    public async Task CloseNotify_FromAServerThatSendsOne_IsSeenAndTheServiceSendsNone()
    {
        using TestCertificate certificate = new();
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url, certificate.Options);
        await using RawClient client = await service.GetAsync("/object/a", "Connection: close\r\n");
        Assert.Equal("x", (await client.ReadAsync()).Body);
        Assert.Equal("", await client.ReadToCloseAsync());
        Assert.Equal((false, false), (client.EndsWithAlert, client.IsReset));

        using Socket listener = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        listener.Listen();
        Task announcing = AnnounceAsync();
        await using RawClient other = await RawClient.ConnectAsync($"https://{listener.LocalEndPoint}");
        Assert.Equal("", await other.ReadToCloseAsync());
        Assert.True(other.EndsWithAlert);
        await announcing.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);

        async Task AnnounceAsync()
        {
            using X509Certificate2 pem = X509Certificate2.CreateFromPemFile(certificate.CertificateFile, certificate.KeyFile);
            await using SslStream tls = new(new NetworkStream(await listener.AcceptAsync(), ownsSocket: true));
            await tls.AuthenticateAsServerAsync(new SslServerAuthenticationOptions
            {
                ServerCertificate = pem,
                ApplicationProtocols = [SslApplicationProtocol.Http11],
            });
            await tls.ShutdownAsync();
        }
    }

    private static string ReadThumbprint(TestCertificate certificate)
    {
        using X509Certificate2 read = X509CertificateLoader.LoadCertificateFromFile(certificate.CertificateFile);
        return read.Thumbprint;
    }

    private static async Task<string> ServedAsync(TestService service)
    {
        using SslStream tls = await ConnectAsync(service);
        return ((X509Certificate2)tls.RemoteCertificate!).Thumbprint;
    }

    private static async Task EventuallyServedAsync(TestService service, string thumbprint)
    {
        // The watcher goes on by itself once time has.
        long start = Stopwatch.GetTimestamp();
        while (await ServedAsync(service) != thumbprint)
        {
            Assert.True(Stopwatch.GetElapsedTime(start) < Patience.Limit, "it is never served");
        }
    }

    private static async Task<SslStream> ConnectAsync(TestService service)
    {
        Uri url = new(service.Url);
        Socket socket = new(SocketType.Stream, ProtocolType.Tcp);
        await socket.ConnectAsync(url.Host, url.Port).WaitAsync(Patience.Limit);
        SslStream tls = new(new NetworkStream(socket, ownsSocket: true));
        SslClientAuthenticationOptions options = new()
        {
            TargetHost = "localhost",
            ApplicationProtocols = [SslApplicationProtocol.Http2, SslApplicationProtocol.Http11],
            RemoteCertificateValidationCallback = static (_, _, _, _) => true,
        };
        await tls.AuthenticateAsClientAsync(options).WaitAsync(Patience.Limit);
        return tls;
    }
}
