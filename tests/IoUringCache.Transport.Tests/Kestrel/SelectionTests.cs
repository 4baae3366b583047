using System.Net;
using IoUringCache.Transport.Internal.Hosting;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Hosting.Server.Features;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;

namespace IoUringCache.Transport.Tests.Kestrel;

/// <summary>Which transport serves, what the log says about it, and which options it gets.</summary>
public sealed class SelectionTests
{
    [Fact]
    public async Task Backend_Sockets_ServesAndLogsConfigured()
    {
        LogEntry entry = await BackendEntryAsync(options => options.Backend = TransportBackend.Sockets);
        Assert.Equal("IO backend: sockets (configured)", entry.Message);
        Assert.Equal(LogLevel.Information, entry.Level);
    }

    [Fact]
    public async Task Backend_Auto_ServesOverIoUringAndLogsIt()
    {
        IoUringRequirement.Check();
        LogEntry entry = await BackendEntryAsync(_ => { });
        Assert.StartsWith("IO backend: io_uring (", entry.Message, StringComparison.Ordinal);
        Assert.Equal(LogLevel.Information, entry.Level);
    }

    [Theory]
    [InlineData(nameof(IoUringTransportOptions.LoopCount), 0)]
    [InlineData(nameof(IoUringTransportOptions.LoopCount), 129)]
    [InlineData("Advanced.RingEntries", 4)]
    [InlineData("Advanced.RingEntries", 100)]
    [InlineData("Advanced.RingEntries", 8192)]
    [InlineData("Advanced.ReceiveBufferCount", 1)]
    [InlineData("Advanced.ReceiveBufferCount", 3)]
    [InlineData("Advanced.ReceiveBufferSize", 511)]
    [InlineData("Advanced.ReceiveBufferSize", 65_537)]
    [InlineData(nameof(IoUringTransportOptions.Backlog), 0)]
    [InlineData(nameof(IoUringTransportOptions.MaxBusyConnectionsPerLoop), 0)]
    [InlineData(nameof(IoUringTransportOptions.MaxReadBufferSize), -1)]
    [InlineData(nameof(IoUringTransportOptions.MaxWriteBufferSize), -1)]
    [InlineData(nameof(IoUringTransportOptions.Backend), 7)]
    [InlineData(nameof(IoUringTransportOptions.ApplicationScheduling), 7)]
    public async Task Options_Invalid_StopTheStartNamingTheOption(string option, int value)
    {
        OptionsValidationException exception = await Assert.ThrowsAsync<OptionsValidationException>(async () =>
        {
            await using WebApplication application = Build(options => Set(options, option, value));
            await application.StartAsync().InTime();
        });
        Assert.Contains($"IoUringTransportOptions.{option}:", exception.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task UseSockets_Values_AreCarriedOver(bool socketsFirst)
    {
        await using WebApplication application = Build(
            options => options.Advanced.ReceiveBufferSize = 1024,
            host => host.UseSockets(Configure),
            socketsFirst);
        IoUringTransportOptions options = application.Services.GetRequiredService<IOptions<IoUringTransportOptions>>().Value;
        Assert.Equal(17, options.Backlog);
        Assert.False(options.NoDelay);
        Assert.Equal(1234, options.MaxReadBufferSize);
        Assert.Null(options.MaxWriteBufferSize);
        Assert.Equal(ApplicationScheduling.Inline, options.ApplicationScheduling);
        Assert.Equal(1024, options.Advanced.ReceiveBufferSize);

        static void Configure(SocketTransportOptions sockets)
        {
            sockets.Backlog = 17;
            sockets.NoDelay = false;
            sockets.MaxReadBufferSize = 1234;
            sockets.MaxWriteBufferSize = null;
            sockets.UnsafePreferInlineScheduling = true;
        }
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task UseSockets_BeforeOrAfter_DoesNotReplaceIoUring(bool socketsFirst)
    {
        IoUringRequirement.Check();
        LogRecorder log = new(LogLevel.Information);
        await using WebApplication application = Build(_ => { }, host => host.UseSockets(), socketsFirst, log);
        await application.StartAsync().InTime();
        Assert.Single(log.Entries, entry => entry.Message.StartsWith("IO backend: io_uring", StringComparison.Ordinal));
        await application.StopAsync().InTime();
    }

    [Fact]
    public async Task Transport_AddedLater_IsAskedFirst()
    {
        await using WebApplication application = Build(
            _ => { },
            host => host.UseSockets().ConfigureServices(services => services.AddSingleton<IConnectionListenerFactory>(new OtherTransport())),
            hostFirst: false);
        Type[] order = [.. application.Services.GetServices<IConnectionListenerFactory>().Reverse().Select(transport => transport.GetType())];
        Assert.Equal(
            [typeof(OtherTransport), typeof(IoUringTransportFactory), typeof(SocketTransportFactory)], order);
    }

    [Fact]
    public async Task Fallback_OfConfiguredTransport_KeepsItsOptions()
    {
        await using WebApplication application = Build(options =>
        {
            options.Backend = TransportBackend.Sockets;
            options.Backlog = 17;
            options.NoDelay = false;
            options.MaxReadBufferSize = 1234;
            options.MaxWriteBufferSize = null;
            options.ApplicationScheduling = ApplicationScheduling.Inline;
        });
        await application.StartAsync().InTime();
        SocketTransportOptions sockets = application.Services.GetRequiredService<IOptions<SocketTransportOptions>>().Value;
        Assert.Equal(17, sockets.Backlog);
        Assert.False(sockets.NoDelay);
        Assert.Equal(1234, sockets.MaxReadBufferSize);
        Assert.Null(sockets.MaxWriteBufferSize);
        Assert.True(sockets.UnsafePreferInlineScheduling);
        await application.StopAsync().InTime();
    }

    [Fact]
    public async Task Options_ConfiguredBeforeUseIoUring_AreKept()
    {
        await using WebApplication application = Build(
            options => options.Advanced.ReceiveBufferSize = 1024,
            host => host.ConfigureServices(services => services.Configure<IoUringTransportOptions>(options =>
            {
                options.Backlog = 17;
                options.Advanced.ReceiveBufferSize = 2048;
            })));
        IoUringTransportOptions options = application.Services.GetRequiredService<IOptions<IoUringTransportOptions>>().Value;
        Assert.Equal(17, options.Backlog);
        Assert.Equal(1024, options.Advanced.ReceiveBufferSize);
    }

    [Fact]
    public async Task UseIoUring_Twice_ServesWithBothConfigurations()
    {
        IoUringRequirement.Check();
        LogRecorder log = new(LogLevel.Information);
        await using WebApplication application = Build(
            options => options.Backlog = 18,
            host => host.UseIoUring(options =>
            {
                options.Backlog = 17;
                options.LoopCount = 3;
            }),
            log: log);
        await application.StartAsync().InTime();
        IoUringTransportOptions options = application.Services.GetRequiredService<IOptions<IoUringTransportOptions>>().Value;
        Assert.Equal(18, options.Backlog);
        LogEntry entry = Assert.Single(log.Entries, entry => entry.Message.StartsWith("IO backend:", StringComparison.Ordinal));
        Assert.Contains("3 loops", entry.Message, StringComparison.Ordinal);
        await application.StopAsync().InTime();
    }

    /// <summary>A host that is configured by its services, with the transport before Kestrel and after it.</summary>
    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task AddIoUringTransport_BeforeOrAfterKestrel_Serves(bool transportFirst)
    {
        IoUringRequirement.Check();
        LogRecorder log = new(LogLevel.Information);
        IHostBuilder builder = new HostBuilder();
        if (transportFirst)
        {
            AddTransport();
        }

        builder.ConfigureWebHost(host => host
            .UseKestrelCore()
            .ConfigureKestrel(options => options.Listen(IPAddress.Loopback, 0))
            .Configure(app => app.Run(context => context.Response.WriteAsync("hello"))));
        if (!transportFirst)
        {
            AddTransport();
        }

        using IHost application = builder.ConfigureLogging(logging => logging.AddProvider(log)).Build();
        await application.StartAsync().InTime();
        string address = application.Services.GetRequiredService<IServer>().Features.Get<IServerAddressesFeature>()!.Addresses.Single();
        using HttpClient client = new() { Timeout = Deadline.Limit };
        Assert.Equal("hello", await client.GetStringAsync(address).InTime());
        await application.StopAsync().InTime();
        LogEntry entry = Assert.Single(log.Entries, entry => entry.Message.StartsWith("IO backend:", StringComparison.Ordinal));
        Assert.Contains("io_uring (3 loops", entry.Message, StringComparison.Ordinal);

        void AddTransport() => builder.ConfigureServices(services => services.AddIoUringTransport(options => options.LoopCount = 3));
    }

    [Fact]
    public async Task UseSockets_CreateBoundListenSocket_IsUsed()
    {
        IoUringRequirement.Check();
        int calls = 0;
        await using WebApplication application = Build(
            _ => { },
            host => host.UseSockets(sockets => sockets.CreateBoundListenSocket = endPoint =>
            {
                calls++;
                return SocketTransportOptions.CreateDefaultBoundListenSocket(endPoint);
            }));
        await application.StartAsync().InTime();
        Assert.Equal(1, calls);
        await application.StopAsync().InTime();
    }

    [Fact]
    public async Task CanBind_OfEndPoints_IsWhatTheSocketsTransportServes()
    {
        await using WebApplication application = Build(_ => { });
        IConnectionListenerFactory last = application.Services.GetServices<IConnectionListenerFactory>().Last();
        IConnectionListenerFactorySelector selector = Assert.IsType<IConnectionListenerFactorySelector>(last, exactMatch: false);
        Assert.IsType<IoUringTransportFactory>(last);
        Assert.True(selector.CanBind(new IPEndPoint(IPAddress.Loopback, 0)));
        Assert.True(selector.CanBind(new System.Net.Sockets.UnixDomainSocketEndPoint("/x")));
        Assert.True(selector.CanBind(new FileHandleEndPoint(3, FileHandleType.Auto)));
        Assert.False(selector.CanBind(new NamedPipeEndPoint("pipe")));
        Assert.False(selector.CanBind(new DnsEndPoint("localhost", 1)));
    }

    [Fact]
    public async Task Options_BuffersBeyondOneArray_StopTheStartNamingTheOption()
    {
        OptionsValidationException exception = await Assert.ThrowsAsync<OptionsValidationException>(async () =>
        {
            await using WebApplication application = Build(options =>
            {
                options.Advanced.ReceiveBufferCount = 32_768;
                options.Advanced.ReceiveBufferSize = 65_536;
            });
            await application.StartAsync().InTime();
        });
        Assert.Contains("IoUringTransportOptions.Advanced.ReceiveBufferSize:", exception.Message, StringComparison.Ordinal);
    }

    private static async Task<LogEntry> BackendEntryAsync(Action<IoUringTransportOptions> configure)
    {
        LogRecorder log = new(LogLevel.Information);
        await using WebApplication application = Build(configure, log: log);
        application.MapGet("/", () => "hello");
        await application.StartAsync().InTime();
        using HttpClient client = new() { Timeout = Deadline.Limit };
        Assert.Equal("hello", await client.GetStringAsync(application.Urls.First()).InTime());
        await application.StopAsync().InTime();
        return Assert.Single(log.Entries, entry => entry.Message.StartsWith("IO backend:", StringComparison.Ordinal));
    }

    private static WebApplication Build(
        Action<IoUringTransportOptions> configure,
        Action<IWebHostBuilder>? host = null,
        bool hostFirst = true,
        LogRecorder? log = null)
    {
        WebApplicationBuilder builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        if (hostFirst)
        {
            host?.Invoke(builder.WebHost);
        }

        builder.WebHost.UseIoUring(configure);
        builder.WebHost.UseKestrelCore();
        if (!hostFirst)
        {
            host?.Invoke(builder.WebHost);
        }

        builder.WebHost.ConfigureKestrel(options => options.Listen(IPAddress.Loopback, 0));
        builder.Services.AddRouting();
        if (log is not null)
        {
            builder.Services.AddLogging(logging => logging.AddProvider(log).SetMinimumLevel(LogLevel.Information));
        }

        return builder.Build();
    }

    private sealed class OtherTransport : IConnectionListenerFactory
    {
        public ValueTask<IConnectionListener> BindAsync(EndPoint endpoint, CancellationToken cancellationToken = default) =>
            throw new NotSupportedException();
    }

    private static void Set(IoUringTransportOptions options, string option, int value)
    {
        string[] path = option.Split('.');
        object target = path.Length == 1 ? options : options.Advanced;
        System.Reflection.PropertyInfo property = target.GetType().GetProperty(path[^1])!;
        Type type = Nullable.GetUnderlyingType(property.PropertyType) ?? property.PropertyType;
        property.SetValue(target, type.IsEnum ? Enum.ToObject(type, value) : Convert.ChangeType(value, type, null));
    }
}
