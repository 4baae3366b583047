using System.Net.Security;
using System.Security.Authentication;
using System.Security.Cryptography.X509Certificates;
using IoUringCache.Transport.Tests.Kestrel;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.Server.Kestrel.Https;
using Protocol.Tests.Support;

namespace Protocol.Tests.Tls;

/// <summary>Hosts with TLS, and clients that trust the test authority alone.</summary>
internal static class TlsHosts
{
    /// <summary>Every transport, with TLS 1.2 and 1.3.</summary>
    internal static TheoryData<TransportKind, SslProtocols> AllVersions
    {
        get
        {
            TheoryData<TransportKind, SslProtocols> data = [];
            foreach (TransportKind kind in Enum.GetValues<TransportKind>())
            {
                data.Add(kind, SslProtocols.Tls12);
                data.Add(kind, SslProtocols.Tls13);
            }

            return data;
        }
    }

    internal static Task<KestrelHost> StartAsync(
        TransportKind kind, Action<HttpsConnectionAdapterOptions>? configure = null, Action<WebApplication>? map = null) =>
        KestrelHost.StartAsync(kind, map ?? Map, endPoint => endPoint.UseHttps(https =>
        {
            https.ServerCertificate = Certificates.Localhost;
            configure?.Invoke(https);
        }));

    /// <summary>The usual end points, and one that tells what was negotiated.</summary>
    internal static void Map(WebApplication application)
    {
        WebEndpoints.Map(application);
        application.MapGet("/tls", (HttpContext context) => Results.Text(context.Features.GetRequiredFeature<ITlsHandshakeFeature>().Protocol.ToString()));
        application.MapGet("/client", (HttpContext context) => Results.Text(context.Connection.ClientCertificate?.Subject ?? "none"));
        application.MapGet("/late-client", async (HttpContext context) =>
        {
            X509Certificate2? certificate = await context.Connection.GetClientCertificateAsync(context.RequestAborted);
            await context.Response.WriteAsync(certificate?.Subject ?? "none");
        });
    }

    internal static SslClientAuthenticationOptions ClientOptions(SslProtocols version = SslProtocols.None) => new()
    {
        TargetHost = "localhost",
        EnabledSslProtocols = version,
        RemoteCertificateValidationCallback = (_, certificate, _, _) =>
            certificate is X509Certificate2 server && Certificates.IsIssuedByAuthority(server),
    };

    internal static HttpClient CreateClient(KestrelHost host, SslClientAuthenticationOptions options) => new(new SocketsHttpHandler { SslOptions = options })
    {
        BaseAddress = host.Address,
        Timeout = Deadline.Limit,
    };
}
