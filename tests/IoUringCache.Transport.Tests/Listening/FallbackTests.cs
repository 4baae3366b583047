using System.Buffers;
using System.Net;
using System.Net.Sockets;
using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Diagnostics;
using IoUringCache.Transport.Internal.Hosting;
using IoUringCache.Transport.Internal.Loops;
using IoUringCache.Transport.Internal.Scheduling;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;

namespace IoUringCache.Transport.Tests.Listening;

/// <summary>What happens where the kernel refuses; the refusals themselves are tests of the ring.</summary>
public sealed class FallbackTests
{
    private const string Reason = "io_uring is switched off on this host";

    [Fact]
    public async Task Auto_KernelRefuses_SocketsServeAndTheReasonIsLoggedOnce()
    {
        LogRecorder log = new();
        IoUringTransportFactory factory = CreateFactory(TransportBackend.Auto, log, new PlatformNotSupportedException(Reason));
        for (int i = 0; i < 2; i++)
        {
            IConnectionListener listener = await factory.BindAsync(new IPEndPoint(IPAddress.Loopback, 0)).InTime();
            using Socket client = new(SocketType.Stream, ProtocolType.Tcp);
            await client.ConnectAsync(listener.EndPoint).InTime();
            ConnectionContext? connection = await listener.AcceptAsync().InTime();
            Assert.NotNull(connection);
            await client.SendAllAsync("abc"u8.ToArray());
            Assert.Equal("abc"u8.ToArray(), await connection.Transport.Input.TakeAsync(3));
            await connection.DisposeAsync().InTime();
            await listener.UnbindAsync().InTime();
            await listener.DisposeAsync().InTime();
        }

        LogEntry entry = Assert.Single(log.Entries, entry => entry.Category == IoUringLog.Category);
        Assert.Equal($"IO backend: sockets ({Reason})", entry.Message);
        Assert.Equal(LogLevel.Warning, entry.Level);
    }

    [Fact]
    public async Task Auto_NoDescriptorIsLeftForALoop_SocketsServe()
    {
        LogRecorder log = new();
        IoUringTransportFactory factory = CreateFactory(TransportBackend.Auto, log, new IoUringException("eventfd", Errno.EMFILE));
        await using IConnectionListener listener = await factory.BindAsync(new IPEndPoint(IPAddress.Loopback, 0)).InTime();

        LogEntry entry = Assert.Single(log.Entries, entry => entry.Category == IoUringLog.Category);
        Assert.Equal("IO backend: sockets (eventfd failed with EMFILE (24).)", entry.Message);
    }

    [Fact]
    public async Task Auto_StartMeetsADefect_BindThrowsIt()
    {
        LogRecorder log = new();
        IoUringTransportFactory factory = CreateFactory(TransportBackend.Auto, log, new InvalidOperationException("a defect"));

        InvalidOperationException exception = await Assert.ThrowsAsync<InvalidOperationException>(
            () => factory.BindAsync(new IPEndPoint(IPAddress.Loopback, 0)).InTime());

        Assert.Equal("a defect", exception.Message);
        Assert.Empty(log.Entries);
    }

    [Fact]
    public async Task Required_KernelRefuses_BindThrowsTheReason()
    {
        LogRecorder log = new();
        IoUringTransportFactory factory = CreateFactory(TransportBackend.IoUring, log, new PlatformNotSupportedException(Reason));
        PlatformNotSupportedException exception = await Assert.ThrowsAsync<PlatformNotSupportedException>(
            () => factory.BindAsync(new IPEndPoint(IPAddress.Loopback, 0)).InTime());
        Assert.Equal(Reason, exception.Message);
        Assert.Empty(log.Entries);
    }

    [Fact]
    public async Task Auto_KernelRefusesALaterEndPoint_BindThrowsTheReason()
    {
        IoUringRequirement.Check();
        LogRecorder log = new();
        bool refuses = false;
        IoUringTransportFactory factory = CreateFactory(TransportBackend.Auto, log, settings => refuses
            ? Task.FromException<EventLoopGroup>(new PlatformNotSupportedException(Reason))
            : EventLoopGroup.AcquireAsync(settings));
        await using IConnectionListener first = await factory.BindAsync(new IPEndPoint(IPAddress.Loopback, 0)).InTime();
        refuses = true;

        // One host is served by one transport: the log has said which.
        PlatformNotSupportedException exception = await Assert.ThrowsAsync<PlatformNotSupportedException>(
            () => factory.BindAsync(new IPEndPoint(IPAddress.Loopback, 0)).InTime());

        Assert.Equal(Reason, exception.Message);
        Assert.DoesNotContain(log.Entries, entry => entry.Level >= LogLevel.Warning);
    }

    [Fact]
    public async Task Bind_MemoryPoolCannotBeMade_GivesEverythingBack()
    {
        IoUringRequirement.Check();
        UnixDomainSocketEndPoint endPoint = TransportServer.NewUnixEndPoint();
        IoUringTransportFactory factory = new(
            Options.Create(new IoUringTransportOptions { Backend = TransportBackend.IoUring }),
            Options.Create(new SocketTransportOptions()),
            new FailingMemoryPoolFactory(),
            new LogRecorder(),
            new IoUringTransportInfo());
        await Assert.ThrowsAsync<InsufficientMemoryException>(() => factory.BindAsync(endPoint).InTime());
        Assert.False(File.Exists(endPoint.ToString()));
        await ProcessState.LoopsEndedAsync();
    }

    private static IoUringTransportFactory CreateFactory(TransportBackend backend, LogRecorder log, Exception refusal) =>
        CreateFactory(backend, log, _ => Task.FromException<EventLoopGroup>(refusal));

    private static IoUringTransportFactory CreateFactory(
        TransportBackend backend, LogRecorder log, Func<EventLoopSettings, Task<EventLoopGroup>> acquireLoops) => new(
        Options.Create(new IoUringTransportOptions { Backend = backend }),
        Options.Create(new SocketTransportOptions()),
        new TestMemoryPoolFactory(),
        log,
        new IoUringTransportInfo())
        {
            AcquireLoops = acquireLoops,
        };

    private sealed class FailingMemoryPoolFactory : IMemoryPoolFactory<byte>
    {
        public MemoryPool<byte> Create(MemoryPoolOptions? options = null) => throw new InsufficientMemoryException();
    }
}
