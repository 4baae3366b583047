using IoUringCache.Transport.Tests.Kestrel;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.DependencyInjection;
using Protocol.Tests.Support;

namespace Protocol.Tests.Http2;

/// <summary>Hosts that speak HTTP/2: with prior knowledge, or as ALPN chooses.</summary>
internal static class Http2Hosts
{
    internal static Version Version { get; } = new(2, 0);

    /// <summary>Every transport, without and with TLS.</summary>
    internal static TheoryData<TransportKind, bool> AllKinds
    {
        get
        {
            TheoryData<TransportKind, bool> data = [];
            foreach (TransportKind kind in Enum.GetValues<TransportKind>())
            {
                data.Add(kind, false);
                data.Add(kind, true);
            }

            return data;
        }
    }

    internal static Task<KestrelHost> StartAsync(
        TransportKind kind, bool secure, Action<WebApplication>? map = null, Action<IServiceCollection>? services = null) =>
        KestrelHost.StartAsync(
            kind,
            map ?? WebEndpoints.Map,
            endPoint =>
            {
                endPoint.Protocols = HttpProtocols.Http2;
                if (secure)
                {
                    endPoint.UseHttps(Certificates.Localhost);
                }
            },
            host: builder => builder.ConfigureServices(collection => services?.Invoke(collection)));
}
