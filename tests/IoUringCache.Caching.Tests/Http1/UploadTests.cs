using IoUringCache.Caching.Http1;

namespace IoUringCache.Caching.Tests.Http1;

/// <summary>Bodies of requests: what is on the wire, and what an exchange comes to whose two bodies do not end as they should.</summary>
public sealed class UploadTests : IDisposable
{
    private const string Answer = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n";
    private static readonly TimeSpan s_patience = TimeSpan.FromSeconds(10);
    private readonly PeerFactory _peers = new() { IsInline = true };

    [Theory]
    [InlineData(null, "2\r\nab\r\na\r\n0123456789\r\n0\r\n\r\n")]
    [InlineData(12L, "ab0123456789")]
    public async Task Upload_OfPieces_IsTheseBytesAndTheConnectionGoesOn(long? length, string expected)
    {
        (Http1Connection connection, PeerConnection peer) = await _peers.ConnectAsync();
        for (int exchange = 0; exchange < 2; exchange++)
        {
            Task<ReceivedHead> sending = SendAsync(connection, new FakeBody(length).Add("ab").Add("").Add("0123456789").End());

            string framing = length is null ? "Transfer-Encoding: chunked" : "Content-Length: 12";
            Assert.Contains($"\r\n{framing}\r\n", await peer.ReadHeadAsync(), StringComparison.Ordinal);
            Assert.Equal(expected, peer.Peek());
            await peer.ReadAsync(expected.Length);
            await peer.SendAsync(Answer + "abc");
            connection.BeginBody(await sending.WaitAsync(Patience.Limit));
            Assert.Equal("abc", await PeerFactory.ReadBodyAsync(connection, s_patience));
            connection.Dispose();
            Assert.Same(connection, _peers.Take());
        }
    }

    /// <summary>What is over the length would be the next request, of which the client may choose every byte.</summary>
    [Theory]
    [InlineData("abcd")]
    [InlineData("abc", "d")]
    [InlineData("ab", "cGET /evil HTTP/1.1\r\n\r\n")]
    public async Task Upload_LongerThanItsLength_IsAFaultAndNoByteOverIsSent(params string[] pieces)
    {
        (Http1Connection connection, PeerConnection peer) = await _peers.ConnectAsync();
        FakeBody body = new(3);
        Array.ForEach(pieces, piece => body.Add(piece));
        Task<ReceivedHead> sending = SendAsync(connection, body.End());

        await AssertFaultAsync(Http1Fault.RequestFailed, sending);
        await peer.ReadHeadAsync();
        Assert.True("abc".StartsWith(peer.Peek(), StringComparison.Ordinal), peer.Peek());
        connection.Close();
        Assert.Equal(1, peer.Disposals);
    }

    /// <summary>The peer would take the next request for the rest of this one.</summary>
    [Fact]
    public async Task Upload_ShorterThanItsLength_IsAFault()
    {
        (Http1Connection connection, PeerConnection peer) = await _peers.ConnectAsync();

        await AssertFaultAsync(Http1Fault.RequestFailed, SendAsync(connection, new FakeBody(3).Add("ab").End()));
        connection.Close();

        Assert.Equal(1, peer.Disposals);
    }

    [Fact]
    public async Task Upload_ThatFailsBeforeTheAnswer_IsAFault()
    {
        (Http1Connection connection, PeerConnection peer) = await _peers.ConnectAsync();
        FakeBody body = new FakeBody(null).Add("ab");
        Task<ReceivedHead> sending = SendAsync(connection, body);
        Assert.False(sending.IsCompleted);

        body.End(new InvalidOperationException("the client is gone"));

        await AssertFaultAsync(Http1Fault.RequestFailed, sending);
        await peer.ReadHeadAsync();
        Assert.Equal("2\r\nab\r\n", peer.Peek());
        connection.Close();
        Assert.Equal((1, 1), (peer.Aborts, peer.Disposals));
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Upload_ThatFailsDuringTheAnswer_IsAFaultAtOnce(bool isWhileReading)
    {
        FakeBody body = new FakeBody(null).Add("ab");
        (Http1Connection connection, _) = await AskAsync(body);
        Task<int>? reading = isWhileReading ? ReadAsync(connection) : null;

        body.End(new InvalidOperationException("the client is gone"));

        await AssertFaultAsync(Http1Fault.RequestFailed, reading ?? ReadAsync(connection));
    }

    [Fact]
    public async Task Answer_BeforeTheUploadHasEnded_IsReadAndItsConnectionClosed()
    {
        FakeBody body = new FakeBody(null).Add("ab");
        (Http1Connection connection, PeerConnection peer) = await AskAsync(body);
        await peer.SendAsync("abc");
        Assert.Equal("abc", await PeerFactory.ReadBodyAsync(connection, s_patience));

        connection.Dispose();

        // The sender still uses the pipe.
        Assert.Null(_peers.Take());
        Assert.Equal((1, 0), (peer.Aborts, peer.Disposals));
        body.Add("cd");
        await _peers.AssertAllDisposedAsync();
        Assert.True(body.IsRefused);
    }

    [Fact]
    public async Task Answer_BeforeTheUploadHasEnded_GoesOnWithIt()
    {
        FakeBody body = new FakeBody(null).Add("ab");
        (Http1Connection connection, PeerConnection peer) = await AskAsync(body);
        await peer.SendAsync("ab");
        Assert.Equal(2, await ReadAsync(connection).WaitAsync(Patience.Limit));
        body.Add("cd").End();
        await peer.SendAsync("c");
        Assert.Equal("c", await PeerFactory.ReadBodyAsync(connection, s_patience));
        await peer.ReadHeadAsync();
        Assert.Equal("2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n", peer.Peek());

        connection.Dispose();

        await peer.ReadAsync(19);
        Assert.Same(connection, _peers.Take());
    }

    [Theory]
    [InlineData(null)]
    [InlineData(1000L)]
    public async Task Upload_ThatThePeerRefuses_HasItsAnswerAndTheConnectionIsClosed(long? length)
    {
        FakeBody body = new(length);
        (Http1Connection connection, PeerConnection peer) = await _peers.ConnectAsync();
        Task<ReceivedHead> sending = SendAsync(connection, body.Add("ab"));
        peer.StopReading();
        body.Add(new byte[998]);
        await peer.SendAsync("HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nabc");

        ReceivedHead head = await sending.WaitAsync(Patience.Limit);
        connection.BeginBody(head);

        Assert.Equal("413 abc", $"{head.StatusCode} {await PeerFactory.ReadBodyAsync(connection, s_patience)}");
        Assert.True(body.IsRefused);
        connection.Dispose();
        Assert.Null(_peers.Take());
        Assert.Equal(1, peer.Disposals);
    }

    /// <summary>Else the time of a peer that takes nothing would begin anew with a piece that it does not take either.</summary>
    [Fact]
    public async Task Upload_InterruptedWhileThePeerTakesNothing_StillWaits()
    {
        _peers.Room = 256;
        (Http1Connection connection, PeerConnection peer) = await _peers.ConnectAsync();
        Task<ReceivedHead> sending = SendAsync(connection, new FakeBody(2000).Add(new byte[1000]).Add(new byte[1000]).End());
        for (int number = 0; number < 3; number++)
        {
            peer.Interrupt();
        }

        await peer.ReadHeadAsync();
        Assert.Equal(1000, peer.Peek().Length);
        Assert.False(sending.IsCompleted);
        await peer.ReadAsync(1000);
        await peer.ReadAsync(1000);
    }

    /// <summary>Neither side may wait for the end of its own body before it reads the other's.</summary>
    [Theory]
    [InlineData(null)]
    [InlineData(300_000L)]
    public async Task Upload_AndAnswerBothLarge_GoThroughLittleBuffer(long? length)
    {
        const int Size = 300_000;
        _peers.Room = 700;
        (Http1Connection connection, PeerConnection peer) = await _peers.ConnectAsync();
        FakeBody body = new(length);
        for (int sent = 0; sent < Size; sent += 3000)
        {
            body.Add(new string('u', 3000));
        }

        Task<ReceivedHead> sending = Task.Run(() => SendAsync(connection, body.End()));
        await peer.ReadHeadAsync();
        Task answering = Task.Run(async () =>
        {
            await peer.SendAsync($"HTTP/1.1 200 OK\r\nContent-Length: {Size}\r\n\r\n");
            for (int sent = 0; sent < Size; sent += 3000)
            {
                await peer.SendAsync(new string('d', 3000));
            }
        });
        int onTheWire = length is null ? Size + (7 * (Size / 3000)) + 5 : Size;
        Task<string> uploaded = Task.Run(async () => string.Concat(await ReadUploadAsync(peer, onTheWire)));
        connection.BeginBody(await sending.WaitAsync(Patience.Limit));
        string answer = await Task.Run(() => PeerFactory.ReadBodyAsync(connection, s_patience));
        await answering.WaitAsync(Patience.Limit);

        Assert.Equal(new string('d', Size), answer);
        Assert.Equal(Size, (await uploaded.WaitAsync(Patience.Limit)).Count(character => character == 'u'));
        await Eventually.TrueAsync(() => body.HasEnded, "the upload has ended");
    }

    [Fact]
    public async Task Chunk_OfManySizes_HasItsSizeInHexadecimal()
    {
        (Http1Connection connection, PeerConnection peer) = await _peers.ConnectAsync();
        FakeBody body = new(null);
        Task<ReceivedHead> sending = SendAsync(connection, body);
        await peer.ReadHeadAsync();
        foreach (int size in (int[])[1, 9, 10, 15, 16, 255, 256, 4095, 4096, 40000])
        {
            body.Add(new string('u', size));
            string expected = $"{size:x}\r\n{new string('u', size)}\r\n";
            Assert.Equal(expected, await peer.ReadAsync(expected.Length));
        }

        body.End();
        Assert.Equal("0\r\n\r\n", await peer.ReadAsync(5));
        Assert.False(sending.IsCompleted);
    }

    public void Dispose() => _peers.Dispose();

    private static async Task<List<string>> ReadUploadAsync(PeerConnection peer, int size)
    {
        List<string> parts = [];
        for (int left = size; left > 0; left -= parts[^1].Length)
        {
            parts.Add(await peer.ReadAsync(Math.Min(left, 100)));
        }

        return parts;
    }

    private static Task<ReceivedHead> SendAsync(Http1Connection connection, IRequestBody body) =>
        connection.SendAsync(PeerFactory.Request("POST", body), s_patience, CancellationToken.None).AsTask();

    private static Task<int> ReadAsync(Http1Connection connection) => connection.ReadAsync(new byte[16], s_patience, CancellationToken.None).AsTask();

    private static async Task AssertFaultAsync(Http1Fault fault, Task waiting)
    {
        Assert.True(waiting.IsCompleted, "it goes on");
        Assert.Equal(fault, (await Assert.ThrowsAsync<Http1Exception>(() => waiting)).Fault);
    }

    /// <summary>A connection on which the head has come of a body of three bytes, while the upload goes on.</summary>
    private async Task<(Http1Connection Connection, PeerConnection Peer)> AskAsync(FakeBody body)
    {
        (Http1Connection connection, PeerConnection peer) = await _peers.ConnectAsync();
        Task<ReceivedHead> sending = SendAsync(connection, body);
        await peer.SendAsync(Answer);
        connection.BeginBody(await sending.WaitAsync(Patience.Limit));
        return (connection, peer);
    }
}
