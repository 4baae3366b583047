using System.Net;
using System.Net.Sockets;
using System.Text;
using CachingService.Listening;
using CachingService.Logs;
using CachingService.Options;
using CachingService.ProxyProtocol;
using IoUringCache.Caching.Engine;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Options;
using IoUringCache.Caching.Serving;
using IoUringCache.Clustering;
using IoUringCache.Transport;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets;

namespace CachingService;

/// <summary>The public side: Kestrel on the io_uring transport, the gate, the objects, our health, and our own answer to all else.</summary>
internal static class PublicApplication
{
    /// <summary>Room for a target of the longest length, with a method and a version. Kestrel answers 414 to more.</summary>
    private const int MaxRequestLineBytes = RequestTarget.MaxLength + 1024;

    public static WebApplication Build(
        ServiceOptions options,
        Action<ILoggingBuilder> configureLogging,
        CacheEngine cache,
        PurgeCluster? cluster,
        ServerCertificates certificates,
        TargetGate gate,
        AccessLog? accessLog,
        ListenSockets sockets,
        Drain drain,
        bool isHeld)
    {
        WebApplicationBuilder builder = WebApplication.CreateEmptyBuilder(new());
        builder.WebHost.UseKestrel(kestrel =>
        {
            kestrel.Configure(options.Configuration.GetSection("Kestrel"));
            kestrel.ConfigureHttpsDefaults(https => https.OnAuthenticate = (_, handshake) => certificates.Select(handshake));
            Configure(kestrel, options, cache, drain);

            // Last: endpoints take the defaults that are set by then.
            foreach (EndPoint endPoint in sockets.EndPointsOfSystemd)
            {
                kestrel.Listen(endPoint, listen => UseTls(listen, options));
            }
        });
        UseTransport(builder.WebHost, options, sockets.Open);
        AcceptGate.Add(builder.Services, sockets, isHeld);
        if (sockets.EndPointsOfSystemd.Count == 0)
        {
            builder.WebHost.UseUrls(options.Urls);
        }

        builder.Services.AddRoutingCore();
        builder.Services.Configure<HostOptions>(host => host.ShutdownTimeout = options.DrainTimeout);
        configureLogging(builder.Logging);
        // Does nothing elsewhere: tells systemd that the service is ready and that it stops, and writes lines as its journal wants them.
        builder.Services.AddSystemd();
        builder.Services
            .AddHostedService(services => new WarmUp(
                services.GetRequiredService<IServer>(),
                options.Protocols,
                cancelled => Rehearsal.RunOnceAsync(options, cancelled),
                services.GetRequiredService<ILogger<WarmUp>>())
            {
                Asks = address => options.ProxyProtocol?.Covers(address) != true,
            });

        WebApplication app = builder.Build();
        app.Use(drain.OnRequestAsync);
        if (options.Admin.OtlpTraces > 0)
        {
            app.Use(new RequestSpan(options.Admin.OtlpTraces).InvokeAsync);
        }

        if (accessLog is not null)
        {
            app.Use(accessLog.InvokeAsync);
        }

        app.Use(gate.InvokeAsync);
        app.UseRouting();
        app.MapHealth(cache.Answers);
        if (options.PublicReady)
        {
            app.MapReady(cache.Answers, app.Lifetime, cluster);
        }

        app.MapFallback("{**path}", gate.RefuseAsync);
        return app;
    }

    /// <summary>
    /// The same server and transport on a loopback port, without log outputs and certificates. Over HTTP/1.1, which its own origin is asked by.
    /// </summary>
    public static WebApplication BuildForRehearsal(ServiceOptions options, CacheEngine cache)
    {
        WebApplicationBuilder builder = WebApplication.CreateEmptyBuilder(new());
        builder.WebHost
            .UseKestrelCore()
            .ConfigureKestrel(kestrel => Configure(
                kestrel, options with { Protocols = HttpVersions.Http1AndHttp2, ProxyProtocol = null }, cache, new Drain(PurgeMethod.Name)))
            .UseUrls("http://127.0.0.1:0");
        UseTransport(builder.WebHost, options, SocketTransportOptions.CreateDefaultBoundListenSocket);
        return builder.Build();
    }

    /// <summary>On a socket of systemd where the addresses say https.</summary>
    private static void UseTls(ListenOptions listen, ServiceOptions options)
    {
        if (options.Urls.Select(BindingAddress.Parse).FirstOrDefault(url => ListenUrls.IsAt(url, listen.SocketPath, listen.IPEndPoint))?.Scheme
            .Equals(Uri.UriSchemeHttps, StringComparison.OrdinalIgnoreCase) == true)
        {
            listen.UseHttps();
        }
    }

    private static void UseTransport(IWebHostBuilder host, ServiceOptions options, Func<EndPoint, Socket> open) => host
        .UseSockets(sockets =>
        {
            sockets.CreateBoundListenSocket = open;

            // The sockets transport at its fastest where the code runs inline, so that a comparison is with its best set-up.
            sockets.UnsafePreferInlineScheduling = options.Scheduling == ApplicationScheduling.Inline;
            sockets.WaitForDataBeforeAllocatingBuffer = !sockets.UnsafePreferInlineScheduling;
        })
        .UseIoUring(options.Configure);

    private static void Configure(KestrelServerOptions kestrel, ServiceOptions options, CacheEngine cache, Drain drain)
    {
        kestrel.AddServerHeader = false;
        kestrel.Limits.MaxRequestLineSize = MaxRequestLineBytes;
        kestrel.Limits.MinResponseDataRate = ReaderRate.ForKestrel(options.Cache.Routes.LowestReaderRate);
        kestrel.Limits.MaxRequestBodySize = options.Cache.MaxRequestBodyBytes;

        // Fields go through as the bytes that they are; the default refuses what is not ASCII.
        kestrel.RequestHeaderEncodingSelector = static _ => Encoding.Latin1;
        kestrel.ResponseHeaderEncodingSelector = static _ => Encoding.Latin1;
        kestrel.ConfigureEndpointDefaults(endpoint =>
        {
            endpoint.Use(drain.OnConnection);
            if (options.ProxyProtocol?.Covers(endpoint) == true)
            {
                ILogger log = endpoint.ApplicationServices.GetRequiredService<ILoggerFactory>().CreateLogger<ProxyProtocolMiddleware>();
                endpoint.Use(new ProxyProtocolMiddleware(options.ProxyProtocol.Proxies, cache.Time, log).Before);
            }

            endpoint.Use(cache.Gate.OnConnection);
            if (options.Protocols != HttpVersions.Http1AndHttp2)
            {
                // Both is Kestrel's default; said explicitly it would warn on every address without TLS.
                endpoint.Protocols = options.Protocols == HttpVersions.Http2 ? HttpProtocols.Http2 : HttpProtocols.Http1;
            }
        });
    }
}
