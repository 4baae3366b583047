using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Scheduling;
using IoUringCache.Transport.Tests.Faults;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;

namespace IoUringCache.Transport.Tests.Connecting;

/// <summary>Which back end connects, what options are refused, and how an application registers it.</summary>
public sealed class ConnectionFactoryTests
{
    private const string Reason = "io_uring is switched off on this host";

    public static TheoryData<Exception> Refusals => [new PlatformNotSupportedException(Reason), new IoUringException("eventfd", Errno.EMFILE)];

    [Theory]
    [MemberData(nameof(Refusals))]
    public async Task Auto_KernelRefuses_SocketsConnectSilently(Exception refusal)
    {
        LogRecorder log = new();
        await using OutgoingPeer peer = OutgoingPeer.Start(TransportKind.Sockets);
        await using IoUringConnectionFactory factory = new(loggers: log) { AcquireLoops = _ => Task.FromException<EventLoopGroup>(refusal) };
        for (int i = 0; i < 2; i++)
        {
            ConnectionContext connection = await factory.ConnectAsync(peer.EndPoint).InTime();
            await using ConnectionPair pair = new(await peer.AcceptAsync(), connection);
            await pair.AssertWorksAsync();
            Assert.Null(connection.Features.Get<IConnectionSchedulerFeature>());
        }

        Assert.DoesNotContain(log.Entries, entry => entry.Level > LogLevel.Debug);
    }

    [Fact]
    public async Task Required_KernelRefuses_ConnectThrowsTheReason()
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(TransportKind.Sockets);
        await using IoUringConnectionFactory factory = new(new IoUringTransportOptions { Backend = TransportBackend.IoUring })
        {
            AcquireLoops = _ => Task.FromException<EventLoopGroup>(new PlatformNotSupportedException(Reason)),
        };

        Assert.Equal(Reason, (await Assert.ThrowsAsync<PlatformNotSupportedException>(() => factory.ConnectAsync(peer.EndPoint).InTime())).Message);
    }

    [Fact]
    public async Task Auto_StartMeetsADefect_ConnectThrowsIt()
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(TransportKind.Sockets);
        await using IoUringConnectionFactory factory = new()
        {
            AcquireLoops = _ => Task.FromException<EventLoopGroup>(new InvalidOperationException("a defect")),
        };

        await Assert.ThrowsAsync<InvalidOperationException>(() => factory.ConnectAsync(peer.EndPoint).InTime());
    }

    [Theory]
    [InlineData(0L, null, "ConnectTimeout")]
    [InlineData(-1L, null, "ConnectTimeout")]
    [InlineData(25 * TimeSpan.TicksPerDay, null, "ConnectTimeout")]
    [InlineData(null, 0L, "KeepAliveTime")]
    [InlineData(null, 32_768 * TimeSpan.TicksPerSecond, "KeepAliveTime")]
    [InlineData(null, long.MaxValue, "KeepAliveTime")]
    public void Options_OutOfRange_AreRefusedByName(long? connectTimeout, long? keepAliveTime, string option)
    {
        IoUringTransportOptions options = new()
        {
            ConnectTimeout = connectTimeout is { } timeout ? new TimeSpan(timeout) : null,
            KeepAliveTime = keepAliveTime is { } time ? new TimeSpan(time) : null,
        };

        OptionsValidationException refusal = Assert.Throws<OptionsValidationException>(() => new IoUringConnectionFactory(options));

        Assert.Contains($"IoUringTransportOptions.{option}:", refusal.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Services_Registered_GiveOneFactoryWithTheOptionsOfTheTransport()
    {
        ServiceCollection services = new();
        services.Configure<SocketTransportOptions>(sockets => sockets.MaxReadBufferSize = 1234);
        services.AddIoUringConnectionFactory(options => options.LoopCount = 1);
        services.AddIoUringConnectionFactory(options => options.ConnectTimeout = TimeSpan.FromSeconds(3));
        await using OutgoingPeer peer = OutgoingPeer.Start(TransportKind.Sockets);
        await using (ServiceProvider provider = services.BuildServiceProvider())
        {
            IConnectionFactory factory = provider.GetRequiredService<IConnectionFactory>();
            Assert.Same(factory, provider.GetRequiredService<IoUringConnectionFactory>());
            IoUringTransportOptions options = provider.GetRequiredService<IOptions<IoUringTransportOptions>>().Value;
            Assert.Equal((1, 1234L, TimeSpan.FromSeconds(3)), (options.LoopCount, options.MaxReadBufferSize, options.ConnectTimeout));
            ConnectionContext connection = await factory.ConnectAsync(peer.EndPoint).InTime();
            await using ConnectionPair pair = new(await peer.AcceptAsync(), connection);
            await pair.AssertWorksAsync();
        }

        await ProcessState.LoopsEndedAsync();
    }

    [Fact]
    public void UseIoUring_HandlerConnectsItself_IsRefused()
    {
        using SocketsHttpHandler handler = new() { ConnectCallback = (_, _) => default };

        InvalidOperationException refusal = Assert.Throws<InvalidOperationException>(() => handler.UseIoUring());

        Assert.Contains("ConnectCallback", refusal.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task UseIoUring_CalledTwice_IsRefused()
    {
        await using IoUringConnectionFactory factory = new();
        using SocketsHttpHandler handler = new();

        Assert.Same(handler, handler.UseIoUring(factory));
        Assert.Throws<InvalidOperationException>(() => handler.UseIoUring(factory));
    }
}
