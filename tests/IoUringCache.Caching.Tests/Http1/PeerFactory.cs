using System.Collections.Concurrent;
using System.Net;
using System.Text;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Http1;
using IoUringCache.Caching.Load;
using IoUringCache.Transport;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Caching.Tests.Http1;

/// <summary>A pool, its clock, and the peers of all connections that it has made. Any thread; one test's.</summary>
internal sealed class PeerFactory : IConnectionFactory, IDisposable
{
    private readonly ConcurrentQueue<PeerConnection> _made = new();

    public PeerFactory() => Pool = new(new IPEndPoint(IPAddress.Loopback, 80), this, Time);

    public FakeTime Time { get; } = new();

    public ConnectionPool Pool { get; }

    public IReadOnlyCollection<PeerConnection> Made => _made;

    /// <summary>Bytes that a direction of the next connection takes before a writer waits.</summary>
    public int Room { get; set; } = 64 * 1024;

    public bool IsInline { get; set; }

    /// <summary>Loop of the next connection.</summary>
    public IConnectionSchedulerFeature? Loop { get; set; }

    public ValueTask<ConnectionContext> ConnectAsync(EndPoint endpoint, CancellationToken cancellationToken = default)
    {
        PeerConnection connection = new(Room, IsInline);
        connection.Features.Set(Loop);
        _made.Enqueue(connection);
        return new(connection);
    }

    /// <summary>A new connection and its peer.</summary>
    public async Task<(Http1Connection Connection, PeerConnection Peer)> ConnectAsync()
    {
        Http1Connection connection = await Pool.ConnectAsync(CancellationToken.None);
        return (connection, _made.Last());
    }

    /// <param name="near">Loop of the caller; none by default.</param>
    public Http1Connection? Take(IConnectionSchedulerFeature? near = null, bool isRepeatable = true) =>
        Pool.TryTake(near ?? ThreadPoolScheduler.Instance, isRepeatable, Time.GetTimestamp());

    public PeerConnection PeerOf(Http1Connection connection) => _made.Single(peer => peer.ConnectionClosed == connection.Ended);

    public static Http1Request Request(string method = "GET", IRequestBody? body = null, params HeaderField[] fields) =>
        new(method, "/", "a", "example.org", [.. fields], body, TellsThatThereIsNoBody: false);

    /// <summary>Reads the body of an answer to its end.</summary>
    public static async Task<string> ReadBodyAsync(
        IResponseBody body, TimeSpan patience, CancellationToken cancellationToken = default)
    {
        StringBuilder text = new();
        byte[] room = new byte[7];
        while (await NextAsync() is var count and > 0)
        {
            text.Append(Latin1Text.Of(room.AsSpan(0, count)));
        }

        return text.ToString();

        Task<int> NextAsync() =>
            body.ReadAsync(room, patience, cancellationToken).AsTask().WaitAsync(Patience.Limit, CancellationToken.None);
    }

    /// <summary>All that was made has been disposed of, once.</summary>
    public async Task AssertAllDisposedAsync()
    {
        foreach (PeerConnection connection in _made)
        {
            await Eventually.TrueAsync(() => connection.Disposals > 0, "the connection is disposed of");
            Assert.Equal(1, connection.Disposals);
        }
    }

    public void Dispose() => Pool.Dispose();
}
