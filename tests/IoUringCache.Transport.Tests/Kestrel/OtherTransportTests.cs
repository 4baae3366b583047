using System.Net;
using System.Threading.Channels;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;

namespace IoUringCache.Transport.Tests.Kestrel;

/// <summary>
/// Named pipes and QUIC beside io_uring in one server. Both are played by recorders: neither exists on every machine that runs this.
/// </summary>
public sealed class OtherTransportTests
{
    [Fact]
    public async Task NamedPipe_BesideIoUring_IsBoundByItsTransport()
    {
        PipeTransport pipes = new();
        await using WebApplication application = await StartAsync(
            services => services.AddSingleton<IConnectionListenerFactory>(pipes),
            options =>
            {
                options.Listen(IPAddress.Loopback, 0);
                options.Listen(new NamedPipeEndPoint("a-pipe"));
            });
        Assert.Equal(["a-pipe"], pipes.Bound);
        Assert.Equal("hello", await GetAsync(new Uri(application.Urls.First(url => url.Contains("127.0.0.1", StringComparison.Ordinal)))));
        await application.StopAsync().InTime();
    }

    [Fact]
    public async Task Quic_BesideIoUring_IsBoundByItsTransport()
    {
        QuicTransport quic = new();
        await using WebApplication application = await StartAsync(
            services => services.AddSingleton<IMultiplexedConnectionListenerFactory>(quic),
            options =>
            {
                options.Listen(IPAddress.Loopback, 0, KestrelHost.UseHttps);
                options.Listen(IPAddress.Loopback, 0, endPoint =>
                {
                    endPoint.Protocols = HttpProtocols.Http3;
                    KestrelHost.UseHttps(endPoint);
                });
            });
        Assert.Single(quic.Bound);
        Uri address = new(application.Urls.First(url => !url.EndsWith(":0", StringComparison.Ordinal)));
        Assert.Equal("hello", await GetAsync(address));
        await application.StopAsync().InTime();
    }

    private static async Task<WebApplication> StartAsync(Action<IServiceCollection> add, Action<KestrelServerOptions> listen)
    {
        IoUringRequirement.Check();
        LogRecorder log = new(LogLevel.Information);
        WebApplicationBuilder builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        builder.WebHost.UseKestrelCore().ConfigureKestrel(listen);
        add(builder.Services);
        builder.WebHost.UseIoUring(options => options.Backend = TransportBackend.IoUring);
        builder.Services.AddRouting();
        builder.Services.AddLogging(logging => logging.AddProvider(log));
        WebApplication application = builder.Build();
        application.MapGet("/", () => "hello");
        await application.StartAsync().InTime();
        Assert.Contains(log.Entries, entry => entry.Message.StartsWith("IO backend: io_uring", StringComparison.Ordinal));
        return application;
    }

    private static async Task<string> GetAsync(Uri address)
    {
        using HttpClientHandler handler = new() { ServerCertificateCustomValidationCallback = (_, _, _, _) => true };
        using HttpClient client = new(handler) { Timeout = Deadline.Limit };
        return await client.GetStringAsync(address).InTime();
    }

    private sealed class PipeTransport : IConnectionListenerFactory, IConnectionListenerFactorySelector
    {
        internal List<string> Bound { get; } = [];

        public bool CanBind(EndPoint endpoint) => endpoint is NamedPipeEndPoint;

        public ValueTask<IConnectionListener> BindAsync(EndPoint endpoint, CancellationToken cancellationToken = default)
        {
            Bound.Add(((NamedPipeEndPoint)endpoint).PipeName);
            return ValueTask.FromResult<IConnectionListener>(new SilentListener(endpoint));
        }
    }

    private sealed class QuicTransport : IMultiplexedConnectionListenerFactory
    {
        internal List<EndPoint> Bound { get; } = [];

        public ValueTask<IMultiplexedConnectionListener> BindAsync(
            EndPoint endpoint, IFeatureCollection? features = null, CancellationToken cancellationToken = default)
        {
            Bound.Add(endpoint);
            return ValueTask.FromResult<IMultiplexedConnectionListener>(new SilentListener(endpoint));
        }
    }

    /// <summary>Nobody ever connects.</summary>
    private sealed class SilentListener(EndPoint endPoint) : IConnectionListener, IMultiplexedConnectionListener
    {
        private readonly Channel<bool> _unbound = Channel.CreateUnbounded<bool>();

        public EndPoint EndPoint => endPoint;

        public async ValueTask<ConnectionContext?> AcceptAsync(CancellationToken cancellationToken = default)
        {
            await _unbound.Reader.WaitToReadAsync(cancellationToken);
            return null;
        }

        public async ValueTask<MultiplexedConnectionContext?> AcceptAsync(
            IFeatureCollection? features = null, CancellationToken cancellationToken = default)
        {
            await _unbound.Reader.WaitToReadAsync(cancellationToken);
            return null;
        }

        public ValueTask UnbindAsync(CancellationToken cancellationToken = default)
        {
            _unbound.Writer.TryComplete();
            return ValueTask.CompletedTask;
        }

        public ValueTask DisposeAsync() => UnbindAsync();
    }
}
