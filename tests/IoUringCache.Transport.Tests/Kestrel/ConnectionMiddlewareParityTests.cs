using System.IO.Pipelines;
using System.Net.Sockets;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;

namespace IoUringCache.Transport.Tests.Kestrel;

/// <summary>Middleware between the transport and HTTP, which uses the connection as the transport made it.</summary>
public sealed class ConnectionMiddlewareParityTests
{
    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Middleware_AroundHttp_SeesTheConnectionBeforeAndAfter(TransportKind kind)
    {
        TaskCompletionSource<string> ended = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using KestrelHost host = await StartAsync(kind, endPoint => endPoint.Use(next => async connection =>
        {
            connection.Items["seen"] = connection.ConnectionId;
            await next(connection);
            ended.SetResult((string)connection.Items["seen"]!);
        }));
        using Socket client = await RawClient.ConnectAsync(host);
        await client.SendTextAsync("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
        Assert.Contains(await ended.Task.InTime(), await client.ReceiveTextToEndAsync(), StringComparison.Ordinal);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Middleware_InPlaceOfHttp_EchoesRawBytesUntilFin(TransportKind kind)
    {
        await using KestrelHost host = await StartAsync(kind, endPoint => endPoint.Use(_ => async connection =>
        {
            await connection.Transport.Input.CopyToAsync(connection.Transport.Output);
        }));
        using Socket client = await RawClient.ConnectAsync(host);
        byte[] sent = Payload.Of(200_000);
        Task<byte[]> receiving = client.ReceiveToEndAsync();
        await client.SendAllAsync(sent);
        client.Shutdown(SocketShutdown.Send);
        Payload.AssertEqual(sent, await receiving.InTime());
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Middleware_Throws_ClientSeesFinAndServerLives(TransportKind kind)
    {
        int connections = 0;
        await using KestrelHost host = await StartAsync(kind, endPoint => endPoint.Use(next => connection =>
            connections++ == 0 ? throw new InvalidOperationException("of the middleware") : next(connection)));
        using (Socket client = await RawClient.ConnectAsync(host))
        {
            Assert.Empty(await client.ReceiveToEndAsync());
        }

        using Socket second = await RawClient.ConnectAsync(host);
        await second.SendTextAsync("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
        Assert.StartsWith("HTTP/1.1 200 ", await second.ReceiveTextToEndAsync(), StringComparison.Ordinal);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Middleware_Aborts_ClientSeesReset(TransportKind kind)
    {
        await using KestrelHost host = await StartAsync(kind, endPoint => endPoint.Use(_ => connection =>
        {
            connection.Abort();
            return Task.CompletedTask;
        }));

        // The reset may be there before the client has noticed that it is connected.
        SocketException exception = await Assert.ThrowsAsync<SocketException>(async () =>
        {
            using Socket client = await RawClient.ConnectAsync(host);
            await client.ReceiveToEndAsync();
        });
        Assert.Equal(SocketError.ConnectionReset, exception.SocketErrorCode);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Middleware_ThatReplacesTheTransport_HttpUsesTheReplacement(TransportKind kind)
    {
        await using KestrelHost host = await StartAsync(kind, endPoint => endPoint.Use(next => async connection =>
        {
            // What TLS middleware does: its own streams in front of the connection's.
            IDuplexPipe original = connection.Transport;
            PipeReader input = PipeReader.Create(original.Input.AsStream());
            PipeWriter output = PipeWriter.Create(original.Output.AsStream());
            connection.Transport = new DuplexPipe(input, output);
            await next(connection);
            await input.CompleteAsync();
            await output.CompleteAsync();
            connection.Transport = original;
        }));
        using HttpClient client = host.CreateClient();
        for (int i = 0; i < 10; i++)
        {
            Assert.NotEmpty(await client.GetStringAsync("/").InTime());
        }
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Middleware_UsesTheSocketAndHeartbeat_TheyAreThere(TransportKind kind)
    {
        TaskCompletionSource<(ProtocolType, bool, bool)> seen = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using KestrelHost host = await StartAsync(kind, endPoint => endPoint.Use(next => connection =>
        {
            seen.SetResult((
                connection.Features.Get<IConnectionSocketFeature>()!.Socket.ProtocolType,
                connection.Features.Get<IConnectionHeartbeatFeature>() is not null,
                connection.Features.Get<IConnectionLifetimeNotificationFeature>() is not null));
            return next(connection);
        }));
        using HttpClient client = host.CreateClient();
        await client.GetStringAsync("/").InTime();
        Assert.Equal((ProtocolType.Tcp, true, true), await seen.Task.InTime());
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task ConnectionLogging_OfRequest_LogsTheBytesBothWays(TransportKind kind)
    {
        using LogRecorder log = new();
        await using KestrelHost host = await KestrelHost.StartAsync(
            kind, Map, endPoint => endPoint.UseConnectionLogging("parity"), host: builder => builder.ConfigureServices(
                services => services.AddLogging(logging => logging.AddProvider(log).AddFilter("parity", LogLevel.Debug))));
        using Socket client = await RawClient.ConnectAsync(host);
        await client.SendTextAsync("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
        string answer = await client.ReceiveTextToEndAsync();
        Assert.StartsWith("HTTP/1.1 200 ", answer, StringComparison.Ordinal);
        await log.WaitForAsync(entry => entry.Message.StartsWith("ReadAsync[", StringComparison.Ordinal));
        await log.WaitForAsync(entry => entry.Message.StartsWith("WriteAsync[", StringComparison.Ordinal));
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task ConnectionLogging_UnderTls_LeavesTheAnswersAlone(TransportKind kind)
    {
        await using KestrelHost host = await StartAsync(kind, endPoint =>
        {
            endPoint.UseConnectionLogging();
            KestrelHost.UseHttps(endPoint);
            endPoint.UseConnectionLogging();
        });
        using HttpClient client = host.CreateClient();
        for (int i = 0; i < 10; i++)
        {
            Assert.NotEmpty(await client.GetStringAsync("/").InTime());
        }
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task MemoryPoolFactory_OfServices_MakesTheConnectionsPool(TransportKind kind)
    {
        TestMemoryPoolFactory pools = new();
        TaskCompletionSource<Type> seen = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using (KestrelHost host = await KestrelHost.StartAsync(
            kind,
            Map,
            endPoint => endPoint.Use(next => connection =>
            {
                seen.SetResult(connection.Features.Get<IMemoryPoolFeature>()!.MemoryPool.GetType());
                return next(connection);
            }),
            host: builder => builder.ConfigureServices(services => services.AddSingleton<IMemoryPoolFactory<byte>>(pools))))
        {
            using HttpClient client = host.CreateClient();
            Assert.NotEmpty(await client.GetStringAsync("/").InTime());
            Assert.Equal(typeof(TestMemoryPoolFactory), (await seen.Task.InTime()).DeclaringType);
            Assert.NotEqual(0, pools.LiveCount);
        }

        Assert.Equal(0, pools.LiveCount);
    }

    private static Task<KestrelHost> StartAsync(TransportKind kind, Action<ListenOptions> listen) => KestrelHost.StartAsync(kind, Map, listen);

    private static void Map(WebApplication application) =>
        application.Run(context => context.Response.WriteAsync(context.Connection.Id));

    private sealed record DuplexPipe(PipeReader Input, PipeWriter Output) : IDuplexPipe;
}
