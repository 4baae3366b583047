using System.Net;
using System.Net.Sockets;
using System.Text;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;

namespace IoUringCache.Transport.Tests.Kestrel;

/// <summary>Hosts, end points and threads.</summary>
public sealed class HostingTests
{
    public static TheoryData<TransportKind> IoUring => Transports.IoUring;

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Hosts_OfEqualOptions_ShareLoops(TransportKind kind)
    {
        await ProcessState.LoopsEndedAsync();
        KestrelHost first = await KestrelHost.StartAsync(kind, Map, transport: options => options.LoopCount = 1);
        await using KestrelHost second = await KestrelHost.StartAsync(kind, Map, transport: options => options.LoopCount = 1);
        Assert.Equal(1, ProcessState.LoopThreadCount);
        await first.DisposeAsync();
        using HttpClient client = second.CreateClient();
        Assert.Equal("hello", await client.GetStringAsync("/").InTime());
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Hosts_OfDifferentLoopCounts_HaveTheirOwnLoops(TransportKind kind)
    {
        await ProcessState.LoopsEndedAsync();
        KestrelHost first = await KestrelHost.StartAsync(kind, Map, transport: options => options.LoopCount = 2);
        await using KestrelHost second = await KestrelHost.StartAsync(kind, Map, transport: options => options.LoopCount = 3);
        Assert.Equal(5, ProcessState.LoopThreadCount);
        using HttpClient client = second.CreateClient();
        using (HttpClient other = first.CreateClient())
        {
            Assert.Equal("hello", await other.GetStringAsync("/").InTime());
            Assert.Equal("hello", await client.GetStringAsync("/").InTime());
        }

        await first.DisposeAsync();
        Assert.Equal("hello", await client.GetStringAsync("/").InTime());
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task EndPoints_OfSeveralKinds_WorkSideBySide(TransportKind kind)
    {
        string path = TransportServer.NewUnixEndPoint().ToString()!;
        await using KestrelHost host = await KestrelHost.StartAsync(kind, Map, kestrel: options =>
        {
            options.Listen(IPAddress.Loopback, 0);
            options.Listen(IPAddress.Loopback, 0, KestrelHost.UseHttps);
            options.ListenUnixSocket(path);
        });
        using HttpClient client = host.CreateClient();
        Assert.Equal("hello", await client.GetStringAsync(host.Addresses[0]).InTime());
        Assert.Equal("hello", await client.GetStringAsync(host.Addresses[1]).InTime());

        using Socket unix = new(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        await unix.ConnectAsync(new UnixDomainSocketEndPoint(path)).InTime();
        await unix.SendAllAsync("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"u8.ToArray());
        Assert.EndsWith("hello\r\n0\r\n\r\n", Encoding.ASCII.GetString(await unix.ReceiveToEndAsync()), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(TransportKind.ThreadPool, 1)]
    [InlineData(TransportKind.ThreadPool, 2)]
    [InlineData(TransportKind.ThreadPool, 4)]
    [InlineData(TransportKind.Adaptive, 1)]
    [InlineData(TransportKind.Adaptive, 2)]
    [InlineData(TransportKind.Adaptive, 4)]
    public async Task Handlers_BlockTheirThread_OthersAndFlushedBytesGoOn(TransportKind kind, int loopCount)
    {
        using ManualResetEventSlim release = new();
        await using KestrelHost host = await KestrelHost.StartAsync(
            kind,
            application =>
            {
                application.MapGet("/", () => "hello");
                application.MapGet("/block", async context =>
                {
                    await context.Response.WriteAsync("flushed");
                    await context.Response.Body.FlushAsync();
                    release.Wait(Deadline.Limit);
                });
            },
            transport: options => options.LoopCount = loopCount);
        List<Socket> blocked = [];
        try
        {
            // Connections are dealt out in turn: the first one of every loop flushes and then blocks; its bytes arrive nevertheless.
            for (int loop = 0; loop < loopCount; loop++)
            {
                blocked.Add(await ConnectAsync(host));
                await blocked[loop].SendAllAsync("GET /block HTTP/1.1\r\nHost: h\r\n\r\n"u8.ToArray());
                StringBuilder received = new();
                while (!received.ToString().Contains("flushed", StringComparison.Ordinal))
                {
                    received.Append(Encoding.ASCII.GetString(await blocked[loop].ReceiveExactlyAsync(1)));
                }
            }

            using HttpClient client = host.CreateClient();
            for (int i = 0; i < 200; i++)
            {
                Assert.Equal("hello", await client.GetStringAsync("/").InTime());
            }

            string[] many = await Task.WhenAll(Enumerable.Range(0, 100).Select(_ => client.GetStringAsync("/"))).InTime();
            Assert.All(many, answer => Assert.Equal("hello", answer));
        }
        finally
        {
            release.Set();
            blocked.ForEach(client => client.Dispose());
        }
    }

    [Theory]
    [InlineData(TransportKind.ThreadPool)]
    [InlineData(TransportKind.Adaptive)]
    public async Task Handlers_ManyBlockInOneBatch_OthersGoOn(TransportKind kind)
    {
        using ManualResetEventSlim release = new();
        using CountdownEvent arrived = new(16);
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application =>
        {
            application.MapGet("/", () => "hello");
            application.MapGet("/block", () =>
            {
                arrived.Signal();
                release.Wait(Deadline.Limit);
            });
        });
        List<Socket> clients = [];
        try
        {
            for (int i = 0; i < 16; i++)
            {
                clients.Add(await ConnectAsync(host));
            }

            byte[] request = "GET /block HTTP/1.1\r\nHost: h\r\n\r\n"u8.ToArray();
            clients.ForEach(client => client.Send(request));
            Assert.True(await Task.Run(() => arrived.Wait(Deadline.Limit)).InTime());
            using HttpClient other = host.CreateClient();
            Assert.Equal("hello", await other.GetStringAsync("/").InTime());
        }
        finally
        {
            release.Set();
            clients.ForEach(client => client.Dispose());
        }
    }

    private static void Map(WebApplication application) => application.MapGet("/", async context => await context.Response.WriteAsync("hello"));

    private static async Task<Socket> ConnectAsync(KestrelHost host)
    {
        Socket client = new(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        await client.ConnectAsync(IPAddress.Loopback, host.Address.Port).InTime();
        return client;
    }
}
