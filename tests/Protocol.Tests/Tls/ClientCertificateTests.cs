using System.Net.Security;
using System.Security.Authentication;
using System.Security.Cryptography.X509Certificates;
using IoUringCache.Transport.Tests.Kestrel;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Server.Kestrel.Https;
using Protocol.Tests.Support;

namespace Protocol.Tests.Tls;

/// <summary>Clients that show a certificate, the wrong one, or none.</summary>
public sealed class ClientCertificateTests
{
    public static TheoryData<TransportKind> All => Transports.All;

    public static TheoryData<TransportKind, SslProtocols> AllVersions => TlsHosts.AllVersions;

    [Theory]
    [MemberData(nameof(AllVersions))]
    public async Task Certificate_ThatIsRequired_ReachesTheApplication(TransportKind kind, SslProtocols version)
    {
        await using KestrelHost host = await TlsHosts.StartAsync(kind, Require);
        using HttpClient client = TlsHosts.CreateClient(host, With(Certificates.Client, version));
        Assert.Equal("CN=client", await client.GetStringAsync("/client").InTime());
    }

    [Theory]
    [MemberData(nameof(AllVersions))]
    public async Task Client_WithoutTheRequiredCertificate_IsRefused(TransportKind kind, SslProtocols version)
    {
        await using KestrelHost host = await TlsHosts.StartAsync(kind, Require);
        using HttpClient client = TlsHosts.CreateClient(host, TlsHosts.ClientOptions(version));
        await Assert.ThrowsAsync<HttpRequestException>(() => client.GetStringAsync("/client").InTime());
        using HttpClient next = TlsHosts.CreateClient(host, With(Certificates.Client, version));
        Assert.Equal("CN=client", await next.GetStringAsync("/client").InTime());
    }

    [Theory]
    [MemberData(nameof(AllVersions))]
    public async Task Client_WithACertificateOfAStranger_IsRefused(TransportKind kind, SslProtocols version)
    {
        await using KestrelHost host = await TlsHosts.StartAsync(kind, Require);
        using HttpClient client = TlsHosts.CreateClient(host, With(Certificates.StrangeClient, version));
        await Assert.ThrowsAsync<HttpRequestException>(() => client.GetStringAsync("/client").InTime());
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Certificate_AskedForByTheHandler_ComesByRenegotiation(TransportKind kind)
    {
        await using KestrelHost host = await TlsHosts.StartAsync(kind, https =>
        {
            Require(https);
            https.ClientCertificateMode = ClientCertificateMode.DelayCertificate;
        });
        using HttpClient client = TlsHosts.CreateClient(host, With(Certificates.Client, SslProtocols.Tls12));
        Assert.Equal("HTTP/1.1", await client.GetStringAsync("/protocol").InTime());
        Assert.Equal("none", await client.GetStringAsync("/client").InTime());
        Assert.Equal("CN=client", await client.GetStringAsync("/late-client").InTime());
        Assert.Equal("CN=client", await client.GetStringAsync("/client").InTime());
    }

    private static void Require(HttpsConnectionAdapterOptions https)
    {
        https.ClientCertificateMode = ClientCertificateMode.RequireCertificate;
        https.ClientCertificateValidation = (certificate, _, _) => Certificates.IsIssuedByAuthority(certificate);
    }

    private static SslClientAuthenticationOptions With(X509Certificate2 certificate, SslProtocols version)
    {
        SslClientAuthenticationOptions options = TlsHosts.ClientOptions(version);
        options.LocalCertificateSelectionCallback = (_, _, _, _, _) => certificate;
        return options;
    }
}
