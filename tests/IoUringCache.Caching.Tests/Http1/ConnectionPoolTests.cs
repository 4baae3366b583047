using System.Net;
using System.Net.Sockets;
using IoUringCache.Caching.Http1;
using IoUringCache.Transport;
using Microsoft.AspNetCore.Connections.Features;

namespace IoUringCache.Caching.Tests.Http1;

/// <summary>Which idle connection is taken, when one is closed, and that each is closed once whoever comes first.</summary>
public sealed class ConnectionPoolTests : IDisposable
{
    private static readonly TimeSpan s_second = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan s_idleTime = TimeSpan.FromMinutes(1);
    private static readonly TimeSpan s_lifetime = TimeSpan.FromMinutes(2);
    private readonly PeerFactory _peers = new() { IsInline = true };

    private ConnectionPool Pool => _peers.Pool;

    [Fact]
    public async Task Connection_OfTheCallersLoop_IsTakenFirstAndOtherwiseTheLastUsed()
    {
        (Loop first, Loop second, Loop third) = (new(), new(), new());
        Http1Connection[] connections =
        [
            await IdleAsync(first), await IdleAsync(second), await IdleAsync(first), await IdleAsync(second), await IdleAsync(loop: null),
        ];

        Assert.Same(connections[2], _peers.Take(first));
        Assert.Same(connections[4], _peers.Take(third));
        Assert.Same(connections[3], _peers.Take(third));
        Assert.Same(connections[0], _peers.Take(first));
        Assert.Same(connections[1], _peers.Take(first));
        Assert.Null(_peers.Take(first));
        Assert.Equal(0, _peers.Made.Sum(peer => peer.Disposals));
    }

    [Fact]
    public async Task Connection_IdleForItsTime_IsClosed()
    {
        Http1Connection old = await IdleAsync();
        Http1Connection used = await IdleAsync();
        _peers.Time.Advance(s_idleTime - s_second);
        Assert.Same(used, _peers.Take());
        await ExchangeAsync(used);

        _peers.Time.Advance(s_second);

        Assert.Equal((1, 0), (_peers.PeerOf(old).Disposals, _peers.PeerOf(used).Disposals));
        Assert.Same(used, _peers.Take());
        Assert.Null(_peers.Take());
    }

    [Fact]
    public async Task Connection_OlderThanItsLifetime_IsClosed()
    {
        Http1Connection idle = await IdleAsync();
        Http1Connection busy = await IdleAsync();
        Assert.Same(busy, _peers.Take());
        for (TimeSpan age = TimeSpan.Zero; age < s_lifetime; age += s_idleTime / 4)
        {
            Assert.Equal(0, _peers.PeerOf(idle).Disposals);
            Assert.Same(idle, _peers.Take());
            await ExchangeAsync(idle);
            _peers.Time.Advance(s_idleTime / 4);
        }

        Assert.Equal((1, 0), (_peers.PeerOf(idle).Disposals, _peers.PeerOf(busy).Disposals));
        await ExchangeAsync(busy);
        Assert.Equal(1, _peers.PeerOf(busy).Disposals);
        Assert.Null(_peers.Take());
    }

    [Fact]
    public async Task Sweep_OfAnEmptyPool_EndsAndBeginsAgain()
    {
        for (int round = 0; round < 3; round++)
        {
            Http1Connection connection = await IdleAsync();
            _peers.Time.Advance(s_idleTime);
            Assert.Equal(1, _peers.PeerOf(connection).Disposals);
        }
    }

    [Fact]
    public async Task Connection_EndedByItsPeerWhileIdle_IsClosedAtOnce()
    {
        Http1Connection[] connections = [await IdleAsync(), await IdleAsync(), await IdleAsync()];

        _peers.PeerOf(connections[1]).End();

        Assert.Equal([0, 1, 0], connections.Select(connection => _peers.PeerOf(connection).Disposals));
        Assert.Same(connections[2], _peers.Take());
        Assert.Same(connections[0], _peers.Take());
        Assert.Null(_peers.Take());
    }

    [Fact]
    public async Task Connection_EndedByItsPeerWhileUsed_IsClosedWhenItIsReturned()
    {
        Http1Connection connection = await IdleAsync();
        PeerConnection peer = _peers.PeerOf(connection);
        Assert.Same(connection, _peers.Take());
        await ExchangeAsync(connection, beforeTheEnd: () => peer.End());

        Assert.Equal(1, peer.Disposals);
        Assert.Null(_peers.Take());
    }

    [Theory]
    [InlineData("H")]
    [InlineData("HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n")]
    public async Task Connection_WhosePeerSendsUnasked_IsClosed(string unasked)
    {
        Http1Connection sound = await IdleAsync();
        Http1Connection connection = await IdleAsync();

        await _peers.PeerOf(connection).SendAsync(unasked);

        Assert.Same(sound, _peers.Take());
        Assert.Equal(1, _peers.PeerOf(connection).Disposals);
    }

    /// <summary>News that only the kernel has: asked for where it is likely, and where the request could not be sent anew.</summary>
    [Theory]
    [InlineData(true, 99, true)]
    [InlineData(true, 100, false)]
    [InlineData(false, 0, false)]
    public async Task Connection_WithNewsThatItsLoopHasNotSeen_IsTakenOnlyWhereThatDoesNoHarm(bool isRepeatable, int idleMilliseconds, bool isTaken)
    {
        using SocketPair pair = await SocketPair.ConnectAsync();
        (Http1Connection connection, PeerConnection peer) = await _peers.ConnectAsync();
        peer.Features.Set<IConnectionSocketFeature>(pair);
        await ExchangeAsync(connection);
        pair.Peer.Shutdown(SocketShutdown.Send);
        Assert.True(pair.Socket.Poll(Patience.Limit, SelectMode.SelectRead));

        _peers.Time.Advance(TimeSpan.FromMilliseconds(idleMilliseconds));

        Assert.Equal(isTaken ? connection : null, _peers.Take(isRepeatable: isRepeatable));
        Assert.Equal(isTaken ? 0 : 1, peer.Disposals);
    }

    [Fact]
    public async Task Disposal_OfThePool_ClosesWhatIsIdleAndTheOthersWhenTheyEnd()
    {
        Http1Connection busy = await IdleAsync();
        Http1Connection broken = await IdleAsync();
        Assert.NotNull(_peers.Take());
        Assert.NotNull(_peers.Take());
        Http1Connection idle = await IdleAsync();

        Pool.Dispose();
        Pool.Dispose();

        Assert.Equal((1, 0, 0), (_peers.PeerOf(idle).Disposals, _peers.PeerOf(busy).Disposals, _peers.PeerOf(broken).Disposals));
        await ExchangeAsync(busy);
        broken.Close();
        await ExchangeAsync(await Pool.ConnectAsync(CancellationToken.None));
        Assert.Null(_peers.Take());
        await _peers.AssertAllDisposedAsync();
        Assert.Equal(0, _peers.Time.ArmedTimers);
    }

    /// <summary>Return, end of the peer, taking, sweeping and disposal: no connection is closed twice, used when closed, or left.</summary>
    [Fact]
    public async Task Connection_InAnyOrderOfEvents_IsClosedOnce()
    {
        Random random = Latin1Text.Seeded();
        for (int round = 0; round < 150; round++)
        {
            using PeerFactory peers = new() { IsInline = true };
            Http1Connection[] connections = new Http1Connection[8];
            for (int index = 0; index < connections.Length; index++)
            {
                connections[index] = (await peers.ConnectAsync()).Connection;
                await BeginAsync(peers.PeerOf(connections[index]), connections[index]);
            }

            List<Action> events = [];
            foreach (Http1Connection connection in connections)
            {
                events.Add(connection.Dispose);
                events.Add(Take);
                PeerConnection peer = peers.PeerOf(connection);
                if (random.Next(2) == 0)
                {
                    events.Add(() => peer.End());
                }
            }

            events.Add(() => peers.Time.Advance(s_idleTime));
            if (random.Next(2) == 0)
            {
                events.Add(peers.Pool.Dispose);
            }

            Action[] order = [.. events];
            random.Shuffle(order);
            using Barrier barrier = new(3);
            Task[] threads = [.. Enumerable.Range(0, barrier.ParticipantCount).Select(thread => Task.Factory.StartNew(
                () =>
                {
                    barrier.SignalAndWait();
                    for (int index = thread; index < order.Length; index += barrier.ParticipantCount)
                    {
                        order[index]();
                    }
                },
                TaskCreationOptions.LongRunning))];
            await Task.WhenAll(threads).WaitAsync(Patience.Limit);
            peers.Pool.Dispose();
            await peers.AssertAllDisposedAsync();

            void Take()
            {
                if (peers.Take() is { } taken)
                {
                    Assert.Equal(0, peers.PeerOf(taken).Disposals);
                    taken.Close();
                }
            }
        }
    }

    public void Dispose() => _peers.Dispose();

    private static async Task BeginAsync(PeerConnection peer, Http1Connection connection)
    {
        Task<ReceivedHead> sending = connection.SendAsync(PeerFactory.Request(), s_second, CancellationToken.None).AsTask();
        await peer.SendAsync("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        connection.BeginBody(await sending.WaitAsync(Patience.Limit));
    }

    /// <summary>A connection whose first exchange has ended well.</summary>
    private async Task<Http1Connection> IdleAsync(IConnectionSchedulerFeature? loop = null)
    {
        _peers.Loop = loop;
        (Http1Connection connection, _) = await _peers.ConnectAsync();
        await ExchangeAsync(connection);
        return connection;
    }

    private async Task ExchangeAsync(Http1Connection connection, Action? beforeTheEnd = null)
    {
        await BeginAsync(_peers.PeerOf(connection), connection);
        beforeTheEnd?.Invoke();
        connection.Dispose();
    }

    /// <summary>A connected pair, of which one end is a connection's.</summary>
    private sealed class SocketPair(Socket socket, Socket peer) : IConnectionSocketFeature, IDisposable
    {
        public Socket Socket => socket;

        public Socket Peer => peer;

        public static async Task<SocketPair> ConnectAsync()
        {
            using Socket listener = new(SocketType.Stream, ProtocolType.Tcp);
            listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
            listener.Listen();
            Socket peer = new(SocketType.Stream, ProtocolType.Tcp);
            await peer.ConnectAsync(listener.LocalEndPoint!).WaitAsync(Patience.Limit);
            return new(await listener.AcceptAsync().WaitAsync(Patience.Limit), peer);
        }

        public void Dispose()
        {
            socket.Dispose();
            peer.Dispose();
        }
    }

    private sealed class Loop : IConnectionSchedulerFeature
    {
        public void Schedule(ReadOnlySpan<LoopWorkItem> items) => throw new NotSupportedException();
    }
}
