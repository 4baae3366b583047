using System.Net;
using System.Net.Security;
using IoUringCache.Transport.Tests.Kestrel;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace IoUringCache.Transport.Tests.Connecting;

/// <summary>
/// A server on Kestrel's Sockets transport, and an HTTP client that connects by the tested back end: for Sockets, as .NET does without a
/// <c>ConnectCallback</c>.
/// </summary>
internal sealed class HttpScene : IAsyncDisposable
{
    private readonly KestrelHost? _server;
    private readonly IoUringConnectionFactory? _factory;

    private HttpScene(KestrelHost? server, IoUringConnectionFactory? factory, HttpClient client, LogRecorder log)
    {
        Log = log;
        _server = server;
        _factory = factory;
        Client = client;
    }

    internal HttpClient Client { get; }

    /// <summary>Events of the connections; none without a factory.</summary>
    internal LogRecorder Log { get; }

    internal static async Task<HttpScene> StartAsync(
        TransportKind kind,
        Action<WebApplication> map,
        Action<ListenOptions>? listen = null,
        Action<SocketsHttpHandler>? configure = null,
        Version? version = null)
    {
        KestrelHost server = await KestrelHost.StartAsync(TransportKind.Sockets, map, listen);
        return Create(kind, server.Address, server, configure, version);
    }

    /// <summary>Without a server of Kestrel.</summary>
    internal static HttpScene To(TransportKind kind, Uri address) => Create(kind, address, null, null, null);

    public async ValueTask DisposeAsync()
    {
        Client.Dispose();
        if (_factory is not null)
        {
            await _factory.DisposeAsync().InTime();
        }

        if (_server is not null)
        {
            await _server.DisposeAsync();
        }
    }

    private static HttpScene Create(TransportKind kind, Uri address, KestrelHost? server, Action<SocketsHttpHandler>? configure, Version? version)
    {
        SocketsHttpHandler handler = new()
        {
            SslOptions = new SslClientAuthenticationOptions { RemoteCertificateValidationCallback = (_, _, _, _) => true },
        };
        configure?.Invoke(handler);
        LogRecorder log = new();
        IoUringConnectionFactory? factory = kind == TransportKind.Sockets ? null : OutgoingPeer.CreateFactory(kind, log: log);
        if (factory is not null)
        {
            handler.UseIoUring(factory);
        }

        return new HttpScene(server, factory, new HttpClient(handler)
        {
            BaseAddress = address,
            Timeout = Deadline.Limit,
            DefaultRequestVersion = version ?? HttpVersion.Version11,
            DefaultVersionPolicy = HttpVersionPolicy.RequestVersionExact,
        }, log);
    }
}
