using IoUringCache.Caching.Http;
using IoUringCache.Caching.Http1;

namespace IoUringCache.Caching.Tests.Http1;

/// <summary>What ends a wait on a connection, at which moment, and that it ends no other one.</summary>
public sealed class ConnectionWaitTests : IDisposable
{
    private const string Answer = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n";
    private static readonly TimeSpan s_second = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan s_patience = 10 * s_second;
    private readonly PeerFactory _peers = new() { IsInline = true };

    [Fact]
    public async Task Head_ThatDoesNotCome_IsLateAtTheEndOfItsTime()
    {
        (Http1Connection connection, PeerConnection peer) = await _peers.ConnectAsync();
        Task<ReceivedHead> sending = SendAsync(connection);
        await peer.SendAsync("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200");

        AssertWaits(sending, s_patience - (s_second / 1000));
        _peers.Time.Advance(s_second / 1000);

        await AssertFaultAsync(Http1Fault.Late, sending);
    }

    [Fact]
    public async Task Head_ThatThePeerDoesNotTake_IsLateAtTheEndOfItsTime()
    {
        _peers.Room = 16;
        (Http1Connection connection, _) = await _peers.ConnectAsync();
        Task<ReceivedHead> sending = SendAsync(connection);

        AssertWaits(sending, s_patience - s_second);
        _peers.Time.Advance(s_second);

        await AssertFaultAsync(Http1Fault.Late, sending);
    }

    [Fact]
    public async Task Body_ThatDoesNotCome_IsLateAtTheEndOfTheTimeOfEachRead()
    {
        (Http1Connection connection, PeerConnection peer) = await AskAsync();
        _peers.Time.Advance(s_patience - s_second); // Nobody waits.
        Task<int> reading = ReadAsync(connection);
        AssertWaits(reading, s_patience - s_second);
        await peer.SendAsync("a");
        Assert.Equal(1, await reading.WaitAsync(Patience.Limit));

        reading = ReadAsync(connection);
        AssertWaits(reading, s_patience - s_second);
        _peers.Time.Advance(s_second);

        await AssertFaultAsync(Http1Fault.Late, reading);
    }

    /// <summary>The timer of a wait goes on after it, and a shorter wait must not wait for it.</summary>
    [Fact]
    public async Task Time_ShorterThanThatBefore_IsKept()
    {
        (Http1Connection connection, _) = await AskAsync();
        Task<int> reading = ReadAsync(connection, 2 * s_second);

        AssertWaits(reading, s_second);
        _peers.Time.Advance(s_second);

        await AssertFaultAsync(Http1Fault.Late, reading);
    }

    [Fact]
    public async Task Time_WithoutEnd_NeverEnds()
    {
        (Http1Connection connection, PeerConnection peer) = await AskAsync();
        Task<int> reading = ReadAsync(connection, TimeSpan.MaxValue);

        AssertWaits(reading, TimeSpan.FromDays(400));
        await peer.SendAsync("abc");

        Assert.Equal(3, await reading.WaitAsync(Patience.Limit));
    }

    [Theory]
    [InlineData(41)]
    [InlineData(100)]
    public async Task Time_LongerThanATimerCanBe_EndsAtItsEnd(int days)
    {
        (Http1Connection connection, _) = await AskAsync();
        Task<int> reading = ReadAsync(connection, TimeSpan.FromDays(days));

        for (int day = 0; day < days - 1; day++)
        {
            AssertWaits(reading, TimeSpan.FromDays(1));
        }

        _peers.Time.Advance(TimeSpan.FromDays(1));
        await AssertFaultAsync(Http1Fault.Late, reading);
    }

    [Fact]
    public async Task Clock_WhileTheRequestsBodyIsWaitedFor_StandsStill()
    {
        FakeBody body = new(length: null);
        (Http1Connection connection, _) = await _peers.ConnectAsync();
        Task<ReceivedHead> sending = SendAsync(connection, body);

        AssertWaits(sending, 10 * s_patience);
        body.Add("abc");
        AssertWaits(sending, 10 * s_patience);
        body.End();

        // All has been sent: now it is the peer who is waited for.
        AssertWaits(sending, s_patience - s_second);
        _peers.Time.Advance(s_second);
        await AssertFaultAsync(Http1Fault.Late, sending);
    }

    [Fact]
    public async Task Clock_WhileThePeerTakesNothingOfTheBody_Runs()
    {
        _peers.Room = 256;
        FakeBody body = new(length: null);
        (Http1Connection connection, _) = await _peers.ConnectAsync();
        Task<ReceivedHead> sending = SendAsync(connection, body);
        AssertWaits(sending, 10 * s_patience);
        body.Add(new byte[1000]);

        AssertWaits(sending, s_patience - s_second);
        _peers.Time.Advance(s_second);

        await AssertFaultAsync(Http1Fault.Late, sending);
    }

    /// <summary>It neither stands still nor begins anew with what the client does.</summary>
    [Fact]
    public async Task Clock_OfTheAnswersBody_RunsWhateverTheUploadDoes()
    {
        FakeBody body = new(length: null);
        (Http1Connection connection, _) = await AskAsync(body);
        Task<int> reading = ReadAsync(connection);

        AssertWaits(reading, s_patience / 2);
        body.Add("abc");
        AssertWaits(reading, (s_patience / 2) - s_second);
        _peers.Time.Advance(s_second);

        await AssertFaultAsync(Http1Fault.Late, reading);
    }

    [Theory]
    [InlineData("send")]
    [InlineData("head")]
    [InlineData("upload")]
    [InlineData("body")]
    public async Task Cancellation_InAnyWait_EndsItAtOnce(string wait)
    {
        _peers.Room = wait is "send" ? 16 : wait is "upload" ? 256 : 64 * 1024;
        using CancellationTokenSource cancellation = new();
        Http1Connection connection;
        Task waiting;
        if (wait == "body")
        {
            (connection, _) = await AskAsync();
            waiting = ReadAsync(connection, cancellationToken: cancellation.Token);
        }
        else
        {
            (connection, _) = await _peers.ConnectAsync();
            waiting = SendAsync(connection, wait is "upload" ? new FakeBody(1000).Add(new byte[1000]).End() : null, cancellation.Token);
        }

        Assert.False(waiting.IsCompleted);
        await cancellation.CancelAsync();

        OperationCanceledException failure = await Assert.ThrowsAnyAsync<OperationCanceledException>(() => waiting.WaitAsync(Patience.Limit));
        Assert.Equal(cancellation.Token, failure.CancellationToken);
        connection.Close();
        await _peers.AssertAllDisposedAsync();
    }

    [Fact]
    public async Task Cancellation_BeforeTheWait_SendsNothing()
    {
        (Http1Connection connection, PeerConnection peer) = await _peers.ConnectAsync();

        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => SendAsync(connection, body: null, new(canceled: true)));

        Assert.Equal("", peer.Peek());
    }

    /// <summary>An interrupt may come when the wait that it was for has ended, and so hits the next one.</summary>
    [Fact]
    public async Task Interrupt_ThatComesTooLate_SpoilsNeitherTheNextWaitNorTheNextExchange()
    {
        (Http1Connection connection, PeerConnection peer) = await _peers.ConnectAsync();
        for (int exchange = 0; exchange < 3; exchange++)
        {
            peer.Interrupt();
            Task<ReceivedHead> sending = SendAsync(connection, new FakeBody(null).Add("abc").End());
            peer.Interrupt();
            await peer.SendAsync("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 ");
            peer.Interrupt();
            Assert.False(sending.IsCompleted);
            await peer.SendAsync("OK\r\nContent-Length: 3\r\n\r\na");
            connection.BeginBody(await sending.WaitAsync(Patience.Limit));
            peer.Interrupt();
            Assert.Equal(1, await ReadAsync(connection).WaitAsync(Patience.Limit));
            peer.Interrupt();
            Task<int> reading = ReadAsync(connection);
            peer.Interrupt();
            Assert.False(reading.IsCompleted);
            await peer.SendAsync("bc");
            Assert.Equal(2, await reading.WaitAsync(Patience.Limit));
            await peer.ReadHeadAsync();
            Assert.Equal("3\r\nabc\r\n0\r\n\r\n", await peer.ReadAsync(13));
            connection.Dispose();
            Assert.Same(connection, _peers.Take());
        }
    }

    /// <summary>A caller that gives up just when the answer comes has either, and the next one on the connection notices nothing.</summary>
    [Fact]
    public async Task Cancellation_RacingWithTheResult_SpoilsNothing()
    {
        using PeerFactory peers = new();
        Random random = Latin1Text.Seeded();
        for (int number = 0; number < 2000; number++)
        {
            Http1Connection? kept = peers.Take();
            Http1Connection connection = kept ?? await peers.Pool.ConnectAsync(CancellationToken.None);
            PeerConnection peer = peers.PeerOf(connection);
            using CancellationTokenSource cancellation = new();
            int delay = random.Next(200);
            bool isForBody = random.Next(2) == 0;
            Task<string> asking = AskAsync();
            Task answering = Task.Run(async () => await peer.SendAsync($"{Answer}{number % 900 + 100}"));
            Task cancelling = Task.Run(() =>
            {
                Thread.SpinWait(delay);
                cancellation.Cancel();
            });
            string outcome = await asking.WaitAsync(Patience.Limit);
            await answering.WaitAsync(Patience.Limit);
            await cancelling.WaitAsync(Patience.Limit);

            Assert.True(outcome == "cancelled" || outcome == $"{number % 900 + 100}", $"{number}: {outcome}");

            async Task<string> AskAsync()
            {
                try
                {
                    connection.BeginBody(await SendAsync(connection, body: null, isForBody ? default : cancellation.Token));
                    return await PeerFactory.ReadBodyAsync(connection, s_patience, cancellation.Token);
                }
                catch (OperationCanceledException)
                {
                    connection.Close();
                    return "cancelled";
                }
                finally
                {
                    connection.Dispose();
                }
            }
        }

        peers.Dispose();
        await peers.AssertAllDisposedAsync();
    }

    [Fact]
    public async Task Close_WhileSomebodyWaits_EndsTheWait()
    {
        (Http1Connection connection, PeerConnection peer) = await AskAsync();
        Task<int> reading = ReadAsync(connection);

        connection.Close();

        await AssertFaultAsync(Http1Fault.BadMessage, reading);
        _peers.Time.Advance(2 * s_patience);
        Assert.Equal((1, 1, 0), (peer.Aborts, peer.Disposals, _peers.Time.ArmedTimers));
    }

    public void Dispose() => _peers.Dispose();

    private static Task<ReceivedHead> SendAsync(
        Http1Connection connection, IRequestBody? body = null, CancellationToken cancellationToken = default) =>
        connection.SendAsync(PeerFactory.Request("POST", body, new HeaderField("A", "b")), s_patience, cancellationToken).AsTask();

    private static Task<int> ReadAsync(Http1Connection connection, TimeSpan? patience = null, CancellationToken cancellationToken = default) =>
        connection.ReadAsync(new byte[16], patience ?? s_patience, cancellationToken).AsTask();

    private static async Task AssertFaultAsync(Http1Fault fault, Task waiting)
    {
        Assert.True(waiting.IsCompleted, "it goes on");
        Assert.Equal(fault, (await Assert.ThrowsAsync<Http1Exception>(() => waiting)).Fault);
    }

    private void AssertWaits(Task waiting, TimeSpan time)
    {
        _peers.Time.Advance(time);
        Assert.False(waiting.IsCompleted, "it has ended");
    }

    /// <summary>A connection on which the head has come of a body of three bytes.</summary>
    private async Task<(Http1Connection Connection, PeerConnection Peer)> AskAsync(IRequestBody? body = null)
    {
        (Http1Connection connection, PeerConnection peer) = await _peers.ConnectAsync();
        Task<ReceivedHead> sending = SendAsync(connection, body);
        await peer.SendAsync(Answer);
        connection.BeginBody(await sending.WaitAsync(Patience.Limit));
        return (connection, peer);
    }
}
