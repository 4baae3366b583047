using System.Collections.Concurrent;
using System.Net;
using System.Security.Cryptography.X509Certificates;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.AspNetCore.Server.Kestrel.Https;
using Microsoft.Extensions.Logging;

namespace CachingService.Tests.Infrastructure;

/// <summary>An origin on Kestrel with TLS, which offers the versions of HTTP that it is given, and keeps what each request was.</summary>
internal sealed class TlsOrigin : IAsyncDisposable
{
    private readonly WebApplication _app;
    private readonly ConcurrentQueue<TlsRequest> _requests = new();
    private int _connections;

    private TlsOrigin(X509Certificate2 certificate, HttpProtocols protocols, RequestDelegate answer, Action<HttpsConnectionAdapterOptions>? configure, int maxStreams)
    {
        WebApplicationBuilder builder = WebApplication.CreateEmptyBuilder(new());
        builder.Logging.ClearProviders();
        builder.WebHost.UseKestrelCore().ConfigureKestrel(kestrel =>
        {
            kestrel.Limits.Http2.MaxStreamsPerConnection = maxStreams;
            kestrel.Limits.MinRequestBodyDataRate = null;
            kestrel.Listen(IPAddress.Loopback, 0, endpoint =>
            {
                endpoint.Protocols = protocols;
                endpoint.Use(next => connection =>
                {
                    Interlocked.Increment(ref _connections);
                    return next(connection);
                });
                endpoint.UseHttps(https =>
                {
                    https.ServerCertificateSelector = (connection, name) =>
                    {
                        connection!.Items[TlsRequest.ServerNameItem] = name;
                        return certificate;
                    };
                    configure?.Invoke(https);
                });
            });
        });
        _app = builder.Build();
        _app.Run(context =>
        {
            _requests.Enqueue(new(context));
            return answer(context);
        });
    }

    /// <summary>By address; <see cref="NamedUrl"/> by name.</summary>
    public string Url => $"https://127.0.0.1:{Port}";

    public string NamedUrl => $"https://localhost:{Port}";

    /// <summary>Connections so far, those whose handshake failed included.</summary>
    public int Connections => Volatile.Read(ref _connections);

    public IReadOnlyList<TlsRequest> Requests => [.. _requests];

    private int Port => new Uri(_app.Urls.Single()).Port;

    public static async Task<TlsOrigin> StartAsync(
        X509Certificate2 certificate,
        RequestDelegate answer,
        HttpProtocols protocols = HttpProtocols.Http1AndHttp2,
        Action<HttpsConnectionAdapterOptions>? configure = null,
        int maxStreams = 100)
    {
        TlsOrigin origin = new(certificate, protocols, answer, configure, maxStreams);
        await origin._app.StartAsync().WaitAsync(Patience.Limit);
        return origin;
    }

    public async ValueTask DisposeAsync()
    {
        using CancellationTokenSource now = new(TimeSpan.Zero);
        await _app.StopAsync(now.Token).WaitAsync(Patience.Limit);
        await _app.DisposeAsync().AsTask().WaitAsync(Patience.Limit);
    }
}

/// <summary>What an origin saw of one request. Immutable.</summary>
internal sealed class TlsRequest(HttpContext context)
{
    public static readonly object ServerNameItem = new();

    public string Line { get; } = $"{context.Request.Method} {context.Features.Get<IHttpRequestFeature>()!.RawTarget} {context.Request.Protocol}";

    public string Protocol { get; } = context.Request.Protocol;

    public string Host { get; } = context.Request.Host.Value ?? "";

    public string ConnectionId { get; } = context.Connection.Id;

    /// <summary>As SNI told it; empty where it told none.</summary>
    public string ServerName { get; } = context.Features.Get<IConnectionItemsFeature>()?.Items[ServerNameItem] as string ?? "";

    public IReadOnlyDictionary<string, string> Fields { get; } =
        context.Request.Headers.ToDictionary(field => field.Key, field => field.Value.ToString(), StringComparer.OrdinalIgnoreCase);
}
