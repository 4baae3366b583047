using IoUringCache.Caching.Http1;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Caching.Tests.Http1;

/// <summary>After which exchanges a connection serves another one, and what is no answer at all (RFC 9112 6.3, 9.3, 9.6).</summary>
public sealed class ConnectionReuseTests : IDisposable
{
    private static readonly TimeSpan s_patience = TimeSpan.FromSeconds(10);
    private readonly PeerFactory _peers = new() { IsInline = true };

    /// <summary>Method, response, its status and body, and whether the connection is used again. A tilde ends the connection.</summary>
    public static TheoryData<string, string, string, bool> Exchanges => new()
    {
        { "GET", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "200 abc", true },
        { "GET", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "200 ", true },
        { "GET", "HTTP/1.1 200 OK\r\nContent-Length: 0003\r\n\r\nabc", "200 abc", true },
        { "GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", "200 abc", true },
        { "GET", "HTTP/1.1 200 OK\r\ntransfer-encoding: CHUNKED\r\n\r\n3\r\nabc\r\n0\r\nA: b\r\n\r\n", "200 abc", true },
        { "POST", "HTTP/1.1 201 Created\r\nContent-Length: 3\r\n\r\nabc", "201 abc", true },
        { "GET", "HTTP/1.1 500 Oops\r\nContent-Length: 3\r\n\r\nabc", "500 abc", true },
        { "GET", "HTTP/1.2 200 OK\r\nContent-Length: 3\r\n\r\nabc", "200 abc", true },
        { "GET", "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\nabc", "200 abc", true },
        { "GET", "HTTP/1.1 200 OK\r\nConnection: closed, not-close\r\nContent-Length: 3\r\n\r\nabc", "200 abc", true },
        { "GET", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc", "200 abc", false },
        { "GET", "HTTP/1.1 200 OK\r\nconnection:CLOSE\r\nContent-Length: 3\r\n\r\nabc", "200 abc", false },
        { "GET", "HTTP/1.1 200 OK\r\nConnection: keep-alive, \tClose ,x\r\nContent-Length: 3\r\n\r\nabc", "200 abc", false },
        { "GET", "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc", "200 abc", false },
        { "HEAD", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 3\r\n\r\n", "200 ", false },
        { "GET", "HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nabc", "200 abc", false },
        { "GET", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\nabc", "200 abc", false },
        { "HEAD", "HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\n", "200 ", false },
        { "GET", "HTTP/1.1 200 OK\r\n\r\nabc~", "200 abc", false },
        { "GET", "HTTP/1.1 200 OK\r\n\r\n~", "200 ", false },
        { "GET", "HTTP/1.1 205 Reset Content\r\n\r\n~", "205 ", false },
        { "GET", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc~", "200 abc", false },
        { "GET", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc\r\n", "200 abc", false },
        { "GET", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nX", "200 ", false },
        { "GET", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "200 abc", false },
        { "GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n\n", "200 abc", false },
        { "GET", "HTTP/1.1 204 No Content\r\n\r\n", "204 ", true },
        { "GET", "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", "204 ", true },
        { "GET", "HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\n", "204 ", false },
        { "GET", "HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\nabc", "204 ", false },
        { "GET", "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n", "204 ", false },
        { "GET", "HTTP/1.1 204 No Content\r\n\r\nabc", "204 ", false },
        { "GET", "HTTP/1.1 304 Not Modified\r\n\r\n", "304 ", true },
        { "GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\n", "304 ", true },
        { "GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\nabc", "304 ", false },
        { "HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", "200 ", true },
        { "HEAD", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "200 ", true },
        { "HEAD", "HTTP/1.1 200 OK\r\n\r\n", "200 ", true },
        { "HEAD", "HTTP/1.1 204 No Content\r\n\r\n", "204 ", true },
        { "HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "200 ", false },
        { "head", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", "200 ", true },
        { "GET", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "200 abc", true },
        { "GET", "HTTP/1.1 100 Go\r\nContent-Length: 3\r\nConnection: close\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "200 ", true },
        { "GET", Interim(32) + "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "200 ", true },
        { "GET", "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nabc~", "101 abc", false },
    };

    /// <summary>Response, and the fault of its head or its framing. A tilde ends the connection.</summary>
    public static TheoryData<string, string> BadHeads => new()
    {
        { "~", "NoAnswer" },
        { "H~", "BadMessage" },
        { "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n~", "BadMessage" },
        { "HTTP/1.1 100 Continue\r\n\r\n~", "BadMessage" },
        { "\r\n", "BadMessage" },
        { "abc\r\n\r\n", "BadMessage" },
        { "HTTP/1.1 200 OK\r\nA: \0\r\n\r\n", "BadField" },
        { Interim(33) + "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "BadMessage" },
        { "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "BadFraming" },
        { "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "BadFraming" },
        { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "BadFraming" },
        { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", "BadFraming" },
        { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked;a=b\r\n\r\n0\r\n\r\n", "BadFraming" },
        { "HTTP/1.1 200 OK\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", "BadFraming" },
        { "HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\nContent-Length: 0\r\n\r\n", "BadFraming" },
        { "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\n", "BadFraming" },
        { "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "BadFraming" },
        { "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", "BadFraming" },
        { "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc", "BadFraming" },
        { "HTTP/1.1 200 OK\r\nContent-Length: 3, 3\r\n\r\nabc", "BadFraming" },
        { "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n", "BadFraming" },
        { "HTTP/1.1 200 OK\r\nContent-Length: +3\r\n\r\nabc", "BadFraming" },
        { "HTTP/1.1 200 OK\r\nContent-Length: -3\r\n\r\nabc", "BadFraming" },
        { "HTTP/1.1 200 OK\r\nContent-Length: 3.0\r\n\r\nabc", "BadFraming" },
        { "HTTP/1.1 200 OK\r\nContent-Length: 0x3\r\n\r\nabc", "BadFraming" },
        { "HTTP/1.1 200 OK\r\nContent-Length: 3 3\r\n\r\nabc", "BadFraming" },
        { "HTTP/1.1 200 OK\r\nContent-Length: \xb3\r\n\r\nabc", "BadFraming" },
        { "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775808\r\n\r\nabc", "BadFraming" },
        { "HTTP/1.1 204 No Content\r\nContent-Length: x\r\n\r\n", "BadFraming" },
        { "HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", "BadFraming" },
    };

    public static TheoryData<string, string> BadBodies => new()
    {
        { "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n~", "BadMessage" },
        { "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab~", "BadMessage" },
        { "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\nab~", "BadMessage" },
        { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n~", "BadMessage" },
        { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n~", "BadMessage" },
        { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n~", "BadMessage" },
        { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3 \r\nabc\r\n0\r\n\r\n", "BadMessage" },
        { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nA: \0\r\n\r\n", "BadField" },
    };

    [Theory]
    [MemberData(nameof(Exchanges))]
    public async Task Exchange_ThatHasEnded_GivesItsConnectionBackOrClosesIt(string method, string response, string answer, bool isKept)
    {
        (Http1Connection connection, PeerConnection peer) = await _peers.ConnectAsync();

        Assert.Equal(answer, await AskAsync(connection, peer, method, response));
        connection.Dispose();

        Assert.Equal(isKept ? connection : null, _peers.Take());
        Assert.Equal(isKept ? 0 : 1, peer.Disposals);
        if (isKept)
        {
            Assert.Equal("200 next", await AskAsync(connection, peer, "GET", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnext"));
            connection.Dispose();
            Assert.Same(connection, _peers.Take());
        }
    }

    [Theory]
    [MemberData(nameof(BadHeads))]
    public async Task Answer_WithABadHead_IsItsFault(string response, string fault)
    {
        (Http1Connection connection, PeerConnection peer) = await _peers.ConnectAsync();

        Http1Exception failure = await Assert.ThrowsAsync<Http1Exception>(() => AskAsync(connection, peer, "GET", response));
        connection.Close();

        Assert.Equal(fault, failure.Fault.ToString());
        Assert.Equal((1, 1), (peer.Aborts, peer.Disposals));
    }

    [Theory]
    [MemberData(nameof(BadBodies))]
    public async Task Answer_WithABadBody_IsItsFaultAndClosesTheConnection(string response, string fault)
    {
        (Http1Connection connection, PeerConnection peer) = await _peers.ConnectAsync();

        Http1Exception failure = await Assert.ThrowsAsync<Http1Exception>(() => AskAsync(connection, peer, "GET", response));
        connection.Dispose();

        Assert.Equal(fault, failure.Fault.ToString());
        Assert.Equal((1, 1), (peer.Aborts, peer.Disposals));
        Assert.Null(_peers.Take());
    }

    /// <summary>A peer that has closed an idle connection answers the next request by a reset as often as by an orderly end.</summary>
    [Fact]
    public async Task Reset_BeforeAByteOfAnAnswer_IsNoAnswer()
    {
        (Http1Connection connection, PeerConnection peer) = await _peers.ConnectAsync();
        ValueTask<ReceivedHead> sending = connection.SendAsync(PeerFactory.Request(), s_patience, CancellationToken.None);

        peer.End(new ConnectionResetException("reset"));

        Assert.Equal(Http1Fault.NoAnswer, (await Assert.ThrowsAsync<Http1Exception>(() => sending.AsTask().WaitAsync(Patience.Limit))).Fault);
    }

    [Fact]
    public async Task Reset_InAHeadOrABody_IsABrokenMessage()
    {
        foreach (string beginning in (string[])["HTTP/1.1 200 OK\r\n", "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\nabc"])
        {
            (Http1Connection connection, PeerConnection peer) = await _peers.ConnectAsync();
            Task<string> asking = AskAsync(connection, peer, "GET", beginning);

            peer.End(new ConnectionResetException("reset"));

            Assert.Equal(Http1Fault.BadMessage, (await Assert.ThrowsAsync<Http1Exception>(() => asking)).Fault);
            connection.Close();
        }
    }

    [Fact]
    public async Task Body_ThatWasNotRead_ClosesItsConnection()
    {
        (Http1Connection connection, PeerConnection peer) = await _peers.ConnectAsync();
        ValueTask<ReceivedHead> sending = connection.SendAsync(PeerFactory.Request(), s_patience, CancellationToken.None);
        await peer.SendAsync("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc");
        connection.BeginBody(await sending);
        Assert.Equal(2, await connection.ReadAsync(new byte[2], s_patience, CancellationToken.None));

        connection.Dispose();
        connection.Dispose();
        connection.Close();

        Assert.Equal((1, 1), (peer.Aborts, peer.Disposals));
    }

    public void Dispose() => _peers.Dispose();

    private static string Interim(int count) => string.Concat(Enumerable.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", count));

    /// <summary>The status and the body.</summary>
    private static async Task<string> AskAsync(Http1Connection connection, PeerConnection peer, string method, string response)
    {
        ValueTask<ReceivedHead> sending = connection.SendAsync(PeerFactory.Request(method), s_patience, CancellationToken.None);
        await peer.SendAsync(response.TrimEnd('~'));
        if (response.EndsWith('~'))
        {
            peer.End();
        }

        ReceivedHead head = await sending.AsTask().WaitAsync(Patience.Limit);
        Assert.StartsWith($"{method} /a HTTP/1.1\r\n", await peer.ReadHeadAsync(), StringComparison.Ordinal);
        connection.BeginBody(head);
        return $"{head.StatusCode} {await PeerFactory.ReadBodyAsync(connection, s_patience)}";
    }
}
