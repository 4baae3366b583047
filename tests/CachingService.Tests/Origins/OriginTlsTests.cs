using System.Diagnostics;
using System.Net;
using System.Security.Cryptography.X509Certificates;
using CachingService.Tests.Infrastructure;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.AspNetCore.Server.Kestrel.Https;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;

namespace CachingService.Tests.Origins;

/// <summary>Whom the service trusts behind <c>https</c>, under which name, and who it says it is itself.</summary>
public sealed class OriginTlsTests
{
    private static readonly string[] s_fillAndPass = ["", "Cookie: a=b\r\n"];

    [Theory]
    [InlineData(HttpProtocols.Http1, "HTTP/1.1")]
    [InlineData(HttpProtocols.Http1AndHttp2, "HTTP/2")]
    [InlineData(HttpProtocols.Http2, "HTTP/2")]
    public async Task Origin_OfTheGivenAuthority_IsAskedInTheBestVersionThatItOffers(HttpProtocols protocols, string version)
    {
        using TestAuthority authority = new();
        using X509Certificate2 certificate = authority.Issue();
        await using TlsOrigin origin = await TlsOrigin.StartAsync(certificate, static context => context.Response.WriteAsync("abc"), protocols);
        await using TestService service = await TestService.StartAsync(origin.NamedUrl, authority.Option);

        foreach (string fields in s_fillAndPass)
        {
            (RawResponse head, string body) = await service.FetchAsync("/object/a%2Fb?c=%20", fields);
            Assert.Equal((200, "abc"), (head.Status, body));
        }

        Assert.All(origin.Requests, request => Assert.Equal(($"GET /a%2Fb?c=%20 {version}", "localhost"), (request.Line, request.ServerName)));
        Assert.Equal((2, 1), (origin.Requests.Count, origin.Connections));
        Assert.Empty(service.Log.Warnings);
    }

    /// <summary>HTTP/1.0 knows no chunks, so the end of such an answer is doubtful (RFC 9112 6.1).</summary>
    [Fact]
    public async Task Chunks_InAnAnswerOfHttp10_Are502()
    {
        using TestAuthority authority = new();
        using X509Certificate2 certificate = authority.Issue();
        WebApplicationBuilder builder = WebApplication.CreateEmptyBuilder(new());
        builder.Logging.ClearProviders();
        builder.WebHost.UseKestrelCore().ConfigureKestrel(kestrel => kestrel.Listen(IPAddress.Loopback, 0, endpoint =>
        {
            endpoint.Protocols = HttpProtocols.Http1;
            endpoint.UseHttps(certificate).Use(static _ => async connection =>
            {
                await connection.Transport.Input.ReadAsync();
                await connection.Transport.Output.WriteAsync("HTTP/1.0 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"u8.ToArray());
            });
        }));
        await using WebApplication origin = builder.Build();
        await origin.StartAsync(TestContext.Current.CancellationToken);
        await using TestService service = await TestService.StartAsync(origin.Urls.Single(), authority.Option, "--Cache:FillAttempts=1");

        foreach (string fields in s_fillAndPass)
        {
            RawResponse head = (await service.FetchAsync("/object/a", fields)).Head;
            Assert.Equal((502, "origin-bad-framing"), (head.Status, head.CacheStatus.Split("detail=")[^1]));
        }

        Assert.Equal(0, service.Host.Cache.Store.Count);
    }

    [Fact]
    public async Task Origin_ThatDoesNotOfferHttp2_IsAskedOverManyConnections()
    {
        using TestAuthority authority = new();
        using X509Certificate2 certificate = authority.Issue();
        using SemaphoreSlim all = new(0);
        await using TlsOrigin origin = await TlsOrigin.StartAsync(certificate, async context => await all.WaitAsync(context.RequestAborted), HttpProtocols.Http1);
        await using TestService service = await TestService.StartAsync(origin.Url, authority.Option);

        Task<(RawResponse Head, string Body)>[] fetches = [.. Enumerable.Range(0, 8).Select(number => service.FetchAsync($"/object/{number}"))];
        await Eventually.TrueAsync(() => origin.Requests.Count == 8, "all are asked for at once");
        all.Release(8);

        Assert.All(await Task.WhenAll(fetches), fetch => Assert.Equal(200, fetch.Head.Status));
        Assert.Equal(8, origin.Connections);
    }

    /// <summary>Which certificate the origin has, and what the log says of it.</summary>
    public static TheoryData<string, string> BadCertificates => new()
    {
        { "other authority", "the certificate of 'CN=localhost' is not trusted: " },
        { "system's authorities", "the certificate of 'CN=localhost' is not trusted: " },
        { "expired", "the certificate of 'CN=localhost' is not trusted: NotTimeValid" },
        { "other name", "the certificate of 'CN=other.example' is not one of 'localhost'" },
    };

    [Theory]
    [MemberData(nameof(BadCertificates))]
    public async Task Certificate_ThatIsNotAccepted_Is502AndToldWithTheReason(string kind, string reason)
    {
        using TestAuthority authority = new();
        using TestAuthority other = new();
        using X509Certificate2 certificate = kind switch
        {
            "other authority" => other.Issue(),
            "expired" => authority.Issue(endsIn: TimeSpan.FromDays(-1)),
            "other name" => authority.Issue("other.example"),
            _ => authority.Issue(),
        };
        await using TlsOrigin origin = await TlsOrigin.StartAsync(certificate, static context => context.Response.WriteAsync("abc"));
        await using TestService service = await TestService.StartAsync(
            origin.NamedUrl, [.. kind == "system's authorities" ? [] : (string[])[authority.Option], "--Cache:OriginEjectAfter=3", "--Cache:FillAttempts=1"]);

        foreach (string fields in s_fillAndPass)
        {
            (RawResponse head, string body) = await service.FetchAsync("/object/a", fields);
            Assert.Equal((502, "CachingService; detail=origin-tls", ""), (head.Status, head.CacheStatus, body));
        }

        Assert.Equal(2, service.Log.Warnings.Count);
        Assert.All(service.Log.Warnings, line => Assert.Contains($"(origin-tls: {reason}", line, StringComparison.Ordinal));
        Assert.Empty(origin.Requests);

        // As for any other address without a connection.
        await service.FetchAsync("/object/a");
        Assert.Equal("CachingService; detail=origin-circuit-open", (await service.FetchAsync("/object/a")).Head.CacheStatus);
    }

    [Fact]
    public async Task Name_ThatIsGiven_IsAskedForAndProvenInsteadOfTheUrls()
    {
        using TestAuthority authority = new();
        using X509Certificate2 certificate = authority.Issue("media.example");
        await using TlsOrigin origin = await TlsOrigin.StartAsync(certificate, static context => context.Response.WriteAsync("abc"));
        await using TestService service = await TestService.StartAsync(origin.Url, authority.Option, "--Cache:OriginTlsName=media.example");

        Assert.Equal("abc", (await service.FetchAsync("/object/a")).Body);
        TlsRequest request = Assert.Single(origin.Requests);
        Assert.Equal(("media.example", new Uri(origin.Url).Authority), (request.ServerName, request.Host));
    }

    [Fact]
    public async Task HostOfAClient_ReachesTheOriginAndIsNotTheNameThatIsChecked()
    {
        // Else each client could have handshakes fail, and so the origin left alone.
        using TestAuthority authority = new();
        using X509Certificate2 certificate = authority.Issue();
        await using TlsOrigin origin = await TlsOrigin.StartAsync(certificate, static context => context.Response.WriteAsync("abc"));
        WebApplicationBuilder builder = WebApplication.CreateSlimBuilder();
        builder.Logging.ClearProviders();
        builder.WebHost.UseUrls("http://127.0.0.1:0");
        builder.Services.AddStreamingCache(options => options.OriginCaFile = authority.CaFile);
        await using WebApplication app = builder.Build();
        app.MapStreamingCache("/{**path}", origin.NamedUrl, static route => route.PreserveHost = true);
        await app.StartAsync(TestContext.Current.CancellationToken).WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);

        foreach (string host in (string[])["a.test", "b.test"])
        {
            await using RawClient client = await RawClient.ConnectAsync(app.Urls.Single());
            await client.SendRawAsync($"GET /a HTTP/1.1\r\nHost: {host}\r\n\r\n");
            Assert.Equal("abc", (await client.ReadAsync()).Body);
        }

        Assert.Equal(["a.test", "b.test"], origin.Requests.Select(request => request.Host));
        Assert.All(origin.Requests, request => Assert.Equal(("localhost", "HTTP/2"), (request.ServerName, request.Protocol)));
    }

    [Theory]
    [InlineData(HttpProtocols.Http1)]
    [InlineData(HttpProtocols.Http1AndHttp2)]
    public async Task Origin_ThatDemandsACertificate_GetsTheGivenOne(HttpProtocols protocols)
    {
        using TestAuthority authority = new();
        using X509Certificate2 certificate = authority.Issue();
        using X509Certificate2 own = authority.Issue("cache.example");
        (string certificateFile, string keyFile) = authority.Write(own);
        await using TlsOrigin origin = await TlsOrigin.StartAsync(
            certificate, static context => context.Response.WriteAsync(context.Connection.ClientCertificate!.Subject), protocols, Demand(own));
        File.WriteAllLines(authority.FileOf("both.pem"), [File.ReadAllText(keyFile), File.ReadAllText(certificateFile)]);
        string[][] forms =
        [
            [$"--Cache:OriginCertificateFile={certificateFile}", $"--Cache:OriginKeyFile={keyFile}"],
            [$"--Cache:OriginCertificateFile={authority.FileOf("both.pem")}"],
        ];
        foreach (string[] form in forms)
        {
            await using TestService service = await TestService.StartAsync(origin.Url, [authority.Option, .. form]);
            Assert.Equal("CN=cache.example", (await service.FetchAsync("/object/a")).Body);
        }
    }

    /// <summary>OpenSSL says why it closes; Kestrel would only close.</summary>
    [Theory]
    [InlineData("http/1.1", false, "certificate required")]
    [InlineData("http/1.1", true, "unknown ca")]
    [InlineData("h2", false, "certificate required")]
    [InlineData("h2", true, "unknown ca")]
    public async Task Origin_ThatRefusesTheCertificate_Is502AndToldWithItsReason(string protocol, bool hasOne, string reason)
    {
        const int MaxTries = 50;
        using TestAuthority authority = new();
        using TestAuthority other = new();
        using X509Certificate2 certificate = authority.Issue();
        using X509Certificate2 own = other.Issue("cache.example");
        (string certificateFile, string keyFile) = other.Write(own);
        (string ofOrigin, string keyOfOrigin) = authority.Write(certificate, "origin");
        using Process origin = Process.Start(new ProcessStartInfo(
            "openssl",
            [
                "s_server", "-accept", "127.0.0.1:0", "-cert", ofOrigin, "-key", keyOfOrigin, "-alpn", protocol,
                "-Verify", "1", "-verify_return_error", "-CAfile", authority.CaFile,
            ])
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
        })!;
        try
        {
            string address = await ServiceProcess.ReadAfterAsync(origin, "ACCEPT ");
            await using TestService service = await TestService.StartAsync(
                $"https://{address}",
                [
                    authority.Option, "--Cache:FillAttempts=1", "--Cache:OriginEjectAfter=0",
                    .. hasOne ? (string[])[$"--Cache:OriginCertificateFile={certificateFile}", $"--Cache:OriginKeyFile={keyFile}"] : [],
                ]);
            foreach (string fields in s_fillAndPass)
            {
                // The alert comes after the handshake. A request that is written just as the connection closes fails by that, and does not tell.
                RawResponse head;
                int tries = 0;
                do
                {
                    (head, _) = await service.FetchAsync("/object/a", fields);
                    Assert.Equal(502, head.Status);
                }
                while (head.CacheStatus != "CachingService; detail=origin-tls" && ++tries < MaxTries);

                Assert.Equal("CachingService; detail=origin-tls", head.CacheStatus);
            }

            Assert.All(
                service.Log.Warnings.Where(line => line.Contains("origin-tls", StringComparison.Ordinal)),
                line => Assert.Contains(reason, line, StringComparison.Ordinal));
        }
        finally
        {
            origin.Kill();
            await origin.WaitForExitAsync(TestContext.Current.CancellationToken).WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
        }
    }

    /// <summary>Lets in whoever has this certificate.</summary>
    private static Action<HttpsConnectionAdapterOptions> Demand(X509Certificate2 certificate)
    {
        string hash = certificate.GetCertHashString();
        return https =>
        {
            https.ClientCertificateMode = ClientCertificateMode.RequireCertificate;
            https.ClientCertificateValidation = (shown, _, _) => shown.GetCertHashString() == hash;
        };
    }
}
