using System.Buffers;
using System.IO.Pipelines;
using System.Net;
using System.Net.Sockets;
using IoUringCache.Transport.Tests.Support;
using IoUringCache.Transport.ZeroCopy;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Options;

namespace IoUringCache.Transport.Tests.Kestrel;

/// <summary>The examples of the public documentation, line by line; a test of the repository compares them.</summary>
public sealed class ExampleTests
{
    [Fact]
    public async Task Example_OfUseIoUring_AddsTheTransport()
    {
        string[] args = [];
        WebApplicationBuilder builder = WebApplication.CreateBuilder(args);
        builder.WebHost.UseIoUring();

        Assert.Equal(TransportBackend.Auto, (await OptionsOfAsync(builder)).Backend);
    }

    [Fact]
    public async Task Example_OfOptions_SetsThem()
    {
        WebApplicationBuilder builder = WebApplication.CreateBuilder();
        builder.WebHost.UseIoUring(options =>
        {
            options.LoopCount = 2;
            options.MaxReadBufferSize = 256 * 1024; // bytes
        });

        IoUringTransportOptions set = await OptionsOfAsync(builder);
        Assert.Equal((2, 262_144), (set.LoopCount, set.MaxReadBufferSize));
    }

    [Fact]
    public async Task Example_OfServices_AddsTransportAndHealthCheck()
    {
        WebApplicationBuilder builder = WebApplication.CreateBuilder();
        builder.Services.AddIoUringTransport(options => options.LoopCount = 2);
        builder.Services.AddHealthChecks().AddIoUringTransport();

        Assert.Equal(2, (await OptionsOfAsync(builder)).LoopCount);
    }

    [Theory]
    [MemberData(nameof(Transports.IoUring), MemberType = typeof(Transports))]
    public async Task Example_OfInfo_TellsTheBackend(TransportKind kind)
    {
        await using KestrelHost host = await KestrelHost.StartAsync(kind, app =>
        {
            app.MapGet("/transport", (IoUringTransportInfo transport) => $"{transport.Backend}: {transport.Reason}");
        });
        using HttpClient client = host.CreateClient();
        Assert.Equal("IoUring: supported", await client.GetStringAsync("/transport").InTime());
    }

    [Fact]
    public async Task Example_OfAdvancedOptions_SetsThem()
    {
        WebApplicationBuilder builder = WebApplication.CreateBuilder();
        builder.WebHost.UseIoUring(options =>
        {
            options.Advanced.ReceiveBufferCount = 16384; // for each loop
        });

        Assert.Equal(16384, (await OptionsOfAsync(builder)).Advanced.ReceiveBufferCount);
    }

    [Fact]
    public async Task Example_OfScheduling_SetsIt()
    {
        WebApplicationBuilder builder = WebApplication.CreateBuilder();
        builder.WebHost.UseIoUring(options => options.ApplicationScheduling = ApplicationScheduling.Inline);

        Assert.Equal(ApplicationScheduling.Inline, (await OptionsOfAsync(builder)).ApplicationScheduling);
    }

    [Fact]
    public async Task Example_OfBackend_SetsIt()
    {
        WebApplicationBuilder builder = WebApplication.CreateBuilder();
        builder.WebHost.UseIoUring(options => options.Backend = TransportBackend.IoUring);

        Assert.Equal(TransportBackend.IoUring, (await OptionsOfAsync(builder)).Backend);
    }

    [Theory]
    [MemberData(nameof(Transports.IoUring), MemberType = typeof(Transports))]
    public async Task Example_OfZeroCopy_Serves(TransportKind kind)
    {
        byte[] logo = Payload.Of(50_000);
        await using KestrelHost host = await KestrelHost.StartAsync(kind, app =>
        {
            app.MapGet("/logo", async (HttpContext context) =>
            {
                context.Response.ContentLength = logo.Length;
                ZeroCopyWriter body = await context.Response.StartZeroCopyAsync(context.RequestAborted);
                await body.WriteAsync(logo, context.RequestAborted);
            });
        });
        using HttpClient client = host.CreateClient();
        Payload.AssertEqual(logo, await client.GetByteArrayAsync("/logo").InTime());
    }

    [Fact]
    public void Example_OfFileBackedMemory_HoldsWhatIsCopiedToIt()
    {
        byte[] logo = Payload.Of(50_000);
        if (FileBackedMemory.TryAllocate(logo.Length, out IMemoryOwner<byte>? memory))
        {
            logo.CopyTo(memory.Memory);
        }

        Payload.AssertEqual(logo, memory!.Memory.ToArray());
        memory.Dispose();
    }

    [Fact]
    public async Task Example_OfSendFile_BuildsAnApplication()
    {
        WebApplicationBuilder builder = WebApplication.CreateBuilder();
        WebApplication app = builder.Build();
        app.UseIoUringSendFile();
        app.UseStaticFiles();

        await app.DisposeAsync();
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Example_OfScheduler_Announces(TransportKind kind)
    {
        await using KestrelHost host = await KestrelHost.StartAsync(kind, app =>
        {
            app.MapGet("/announced", async (HttpContext context) =>
            {
                TaskCompletionSource made = new();
                Announcement announcement = new(made);
                if (context.Features.Get<IConnectionSchedulerFeature>() is { } scheduler)
                {
                    scheduler.Schedule([announcement]);
                }
                else
                {
                    ThreadPool.UnsafeQueueUserWorkItem(announcement, preferLocal: false);
                }

                await made.Task;
            });
        });
        using HttpClient client = host.CreateClient();
        Assert.Equal("", await client.GetStringAsync("/announced").InTime());
    }

    [Fact]
    public async Task Example_OfConnectionFactory_Connects()
    {
        using Socket listener = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        listener.Listen();
        int port = ((IPEndPoint)listener.LocalEndPoint!).Port;
        Task<byte[]> receiving = ReceiveAsync();
        IoUringTransportOptions options = new() { ConnectTimeout = TimeSpan.FromSeconds(5) };
        await using IoUringConnectionFactory factory = new(options);
        await using ConnectionContext connection = await factory.ConnectAsync(new DnsEndPoint("localhost", port));
        await connection.Transport.Output.WriteAsync("hello"u8.ToArray());

        Assert.Equal("hello"u8.ToArray(), await receiving.InTime());

        async Task<byte[]> ReceiveAsync()
        {
            using Socket client = await listener.AcceptAsync().InTime();
            return await client.ReceiveExactlyAsync(5);
        }
    }

    [Fact]
    public async Task Example_OfDirectReceive_ReadsWhatComes()
    {
        int expectedBytes = 5;
        byte[] memory = new byte[expectedBytes];
        using Socket listener = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        listener.Listen();
        await using IoUringConnectionFactory factory = new();
        await using ConnectionContext context = await factory.ConnectAsync(listener.LocalEndPoint!);
        using Socket peer = await listener.AcceptAsync().InTime();
        await peer.SendAllAsync("hello"u8.ToArray());

        ReadResult read = context.Features.Get<IDirectReceiveFeature>() is { } direct
            ? await direct.ReadAsync(memory, expectedBytes)
            : await context.Transport.Input.ReadAsync();

        Assert.Equal("hello"u8.ToArray(), read.Buffer.ToArray());
    }

    [Theory]
    [MemberData(nameof(Transports.IoUring), MemberType = typeof(Transports))]
    public async Task Example_OfHttpClient_GetsAnAnswer(TransportKind kind)
    {
        await using KestrelHost host = await KestrelHost.StartAsync(kind, app => app.MapGet("/", () => "answer"));
        Lazy<IoUringConnectionFactory> ofProcess = SocketsHttpHandlerIoUringExtensions.OfProcess;
        Assert.False(ofProcess.IsValueCreated); // Its loops would never end.
        await using IoUringConnectionFactory factory = new();
        SocketsHttpHandlerIoUringExtensions.OfProcess = new(factory);
        using HttpClient client = new(new SocketsHttpHandler().UseIoUring());

        Assert.Equal("answer", await client.GetStringAsync(host.Address).InTime());
        SocketsHttpHandlerIoUringExtensions.OfProcess = ofProcess;
    }

    [Fact]
    public async Task Example_OfConnectionFactoryServices_AddsIt()
    {
        WebApplicationBuilder builder = WebApplication.CreateBuilder();
        builder.Services.AddIoUringConnectionFactory(options => options.ConnectTimeout = TimeSpan.FromSeconds(5));

        Assert.Equal(TimeSpan.FromSeconds(5), (await OptionsOfAsync(builder)).ConnectTimeout);
    }

    private static async Task<IoUringTransportOptions> OptionsOfAsync(WebApplicationBuilder builder)
    {
        await using WebApplication application = builder.Build();
        return application.Services.GetRequiredService<IOptions<IoUringTransportOptions>>().Value;
    }
}
