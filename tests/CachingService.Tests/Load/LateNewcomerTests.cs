using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Load;
using IoUringCache.Caching.Serving;
using IoUringCache.Caching.Telemetry;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Http;

namespace CachingService.Tests.Load;

/// <summary>Connections whose bytes have waited, in the listen queue for instance: the kernel's clock tells, so these tests use that.</summary>
public sealed class LateNewcomerTests : IDisposable
{
    private readonly Socket _listener = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
    private readonly Socket _client = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
    private readonly Socket _accepted;
    private readonly CacheMetrics _metrics = new();

    public LateNewcomerTests()
    {
        _listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        _listener.Listen();
        _client.Connect(_listener.LocalEndPoint!);
        _accepted = _listener.Accept();
    }

    public void Dispose()
    {
        _accepted.Dispose();
        _client.Dispose();
        _listener.Dispose();
        _metrics.Dispose();
    }

    [Fact]
    public void Age_OfBytes_Grows()
    {
        _client.Send(new byte[1]);

        WaitForAge(TimeSpan.FromMilliseconds(20));
    }

    [Fact]
    public void Age_OfASilentConnection_IsZeroHoweverLong()
    {
        Stopwatch elapsed = Stopwatch.StartNew();
        SpinWait.SpinUntil(() => elapsed.ElapsedMilliseconds > 20);

        Assert.Equal(TimeSpan.Zero, ArrivalAge.Of(Connection()));
    }

    [Fact]
    public void Age_WhereThereIsNoSocket_IsZero() => Assert.Equal(TimeSpan.Zero, ArrivalAge.Of(new DefaultConnectionContext()));

    [Theory]
    [InlineData("5ms", true, true)]
    [InlineData("1h", true, false)]
    [InlineData("5ms", false, false)]
    [InlineData("0", true, false)]
    public void Newcomer_WhoseBytesAreOld_IsMarkedWhereAcceptingPauses(string overloadDelay, bool pauses, bool isMarked)
    {
        _client.Send(new byte[1]);
        WaitForAge(TimeSpan.FromMilliseconds(20));
        LoadGate gate = new(new(new(Heads.OptionsOf($"Cache:OverloadDelay={overloadDelay}")), TimeProvider.System), new(new("Test")), _metrics, pauses);
        ConnectionContext connection = Connection();

        gate.OnConnection(_ => Task.CompletedTask)(connection);

        Assert.Equal(isMarked, connection.Features.Get<Newcomer>() is { IsLate: true });
    }

    /// <summary>Over HTTP/2 the connection stays, and its later requests are not late.</summary>
    [Fact]
    public async Task Newcomer_OverHttp2_IsRefusedOnceAndThenServed()
    {
        _client.Send(new byte[1]);
        WaitForAge(TimeSpan.FromMilliseconds(20));
        LoadGate gate = new(new(new(Heads.OptionsOf("Cache:OverloadDelay=5ms")), TimeProvider.System), new(new("Test")), _metrics, pauses: true);
        ConnectionContext connection = Connection();
        await gate.OnConnection(_ => Task.CompletedTask)(connection);
        int served = 0;
        ObjectHandler handler = gate.Before((_, _) => Task.FromResult(served++));

        Assert.Equal((503, 0), (await AskAsync(), served));
        Assert.Equal((200, 1), (await AskAsync(), served));
        Assert.Equal((200, 2), (await AskAsync(), served));

        async Task<int> AskAsync()
        {
            DefaultHttpContext context = new() { Request = { Protocol = HttpProtocol.Http2 } };
            context.Features.Set(connection.Features.Get<Newcomer>());
            await handler(context, default);
            return context.Response.StatusCode;
        }
    }

    private void WaitForAge(TimeSpan age) =>
        Assert.True(SpinWait.SpinUntil(() => ArrivalAge.Of(Connection()) >= age, Patience.Limit), "The kernel has seen no time pass.");

    private DefaultConnectionContext Connection()
    {
        DefaultConnectionContext connection = new();
        connection.Features.Set<IConnectionSocketFeature>(new SocketFeature(_accepted));
        return connection;
    }

    private sealed class SocketFeature(Socket socket) : IConnectionSocketFeature
    {
        public Socket Socket => socket;
    }
}
