using CachingService.Tests.Infrastructure;
using CachingService.Tests.Serving;

namespace CachingService.Tests.Filling;

/// <summary>Bodies over the limit of one object: shared by those who are there, never stored, in bounded memory.</summary>
public sealed class TooLargeTests
{
    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Body_OverTheLimit_ReachesAllWhoWaitedAndIsNotStored(bool isLengthKnown)
    {
        // Both have the first part before the rest comes, so neither can fall out of a window of 700,000 bytes.
        const int FirstPart = 150_000;
        (TaskCompletionSource joined, TaskCompletionSource bothLive) = (new TaskCompletionSource(), new TaskCompletionSource());
        string body = string.Concat(Enumerable.Range(0, 100_000).Select(number => $"{number:x8}"));
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await joined.Task;
            await exchange.SendAsync("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n");
            await exchange.SendAsync(isLengthKnown
                ? $"Content-Length: {body.Length}\r\n\r\n"
                : $"Transfer-Encoding: chunked\r\n\r\n{body.Length:x}\r\n");
            await exchange.SendAsync(body[..FirstPart]);
            await bothLive.Task;
            await exchange.SendAsync(body[FirstPart..] + (isLengthKnown ? "" : "\r\n0\r\n\r\n"));
        });
        await using TestService service = await TestService.StartAsync(
            origin.Url, "--Cache:MaxObjectBytes=600000", "--Cache:ReadAheadBytes=100000");
        await using RawClient first = await service.GetAsync("/object/a");
        await Eventually.TrueAsync(() => origin.RequestCount == 1, "fill");
        await using RawClient second = await service.GetAsync("/object/a");
        await service.JoinedAsync(1);
        joined.SetResult();
        await Eventually.TrueAsync(() => service.Host.Metrics.SentBytes >= 2 * FirstPart, "both live");
        bothLive.SetResult();

        (RawResponse Head, string Body)[] bodies = await Task.WhenAll(first.ReadAsync(), second.ReadAsync());

        Assert.All(bodies, answer => Assert.Equal(body, answer.Body));
        await service.IsAtRestAsync();
        Assert.Equal((1, 0, 0L), (origin.RequestCount, service.Host.Cache.Store.Count, service.Host.Metrics.CutReaders));
    }

    [Fact]
    public async Task Body_TooLarge_TakesNoNewReaders()
    {
        TaskCompletionSource rest = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 6\r\n\r\nabc");
            await rest.Task;
            await exchange.SendAsync("def");
        });
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:MaxObjectBytes=5");
        await using RawClient first = await service.GetAsync("/object/a");
        RawResponse firstHead = await first.ReadHeadAsync();
        Assert.Equal("CachingService; fwd=uri-miss; fwd-status=200; detail=too-large", firstHead.CacheStatus);

        await using RawClient second = await service.GetAsync("/object/a");
        RawResponse secondHead = await second.ReadHeadAsync();
        rest.SetResult();

        Assert.Equal(("abcdef", "abcdef"), (await first.ReadBodyAsync(firstHead), await second.ReadBodyAsync(secondHead)));
        Assert.Equal(2, origin.RequestCount);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task EndlessBody_WithOneStoppedReader_HoldsTheOriginBackInBoundedMemory()
    {
        long sent = 0L;
        await using ScriptedOrigin origin = new(exchange => SendEndlesslyAsync(exchange, bytes => Volatile.Write(ref sent, bytes)));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:MaxObjectBytes=1MiB", "--Cache:ReadAheadBytes=256KiB");
        await using RawClient client = await RawClient.ConnectAsync(service.Url, receiveBuffer: 65536);
        await client.SendAsync("/object/a");
        await client.ReadHeadAsync();

        await SharingTests.ReadUntilStalledAsync(() => Volatile.Read(ref sent));

        Assert.InRange(service.Host.Cache.Ledger.InFlightBytes, 1, (1 << 20) + (256 << 10) + (128 << 10));
        client.Vanish();
        await service.IsAtRestAsync();
        Assert.Empty(service.Log.Warnings);
    }

    [Fact]
    public async Task EndlessBody_WithoutAMinimumRate_CutsTheLaggardAndServesTheOther()
    {
        // The window is larger than all that the socket buffers of the stopped reader can take, so it is never the one ahead.
        const long MaxObjectBytes = 12 << 20;
        const long ReadAheadBytes = 256 << 10;
        TaskCompletionSource joined = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await joined.Task;
            await SendEndlesslyAsync(exchange, static _ => { });
        });
        await using TestService service = await TestService.StartAsync(
            origin.Url, "--Cache:MinReaderRate=0", $"--Cache:MaxObjectBytes={MaxObjectBytes}", $"--Cache:ReadAheadBytes={ReadAheadBytes}");
        await using RawClient fast = await service.GetAsync("/object/a");
        await Eventually.TrueAsync(() => origin.RequestCount == 1, "fill");
        await using RawClient stopped = await RawClient.ConnectAsync(service.Url, receiveBuffer: 65536);
        await stopped.SendAsync("/object/a");
        await service.JoinedAsync(1);
        joined.SetResult();
        await fast.ReadHeadAsync();

        // The stopped reader may have some megabytes in socket buffers before it counts as stopped.
        for (int read = 0; service.Host.Metrics.CutReaders == 0; read += 1 << 20)
        {
            Assert.InRange(read, 0, 200 << 20);
            await fast.ReadExactlyAsync(1 << 20);
            Assert.InRange(service.Host.Cache.Ledger.InFlightBytes, 0, MaxObjectBytes + (2 * ReadAheadBytes) + (128 << 10));
        }

        await fast.ReadExactlyAsync(4 << 20);
        await Eventually.TrueAsync(() => service.Host.Metrics.ActiveReaders == 1, "laggard gone");
        Assert.Equal("behind=1", service.ReasonsOf("cache_readers_cut_total"));
        fast.Vanish();
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task LargeBody_WithOneStoppedReaderOfTen_ReachesTheOtherNineWhole()
    {
        const int Pieces = 20;
        string piece = string.Concat(Enumerable.Range(0, 1 << 17).Select(number => $"{number:x8}"));
        TaskCompletionSource joined = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await joined.Task;
            await exchange.SendAsync($"HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: {Pieces * piece.Length}\r\n\r\n");
            for (int number = 0; number < Pieces; number++)
            {
                await exchange.SendAsync(piece);
            }
        });
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:MaxObjectBytes=1MiB", "--Cache:ReadAheadBytes=256KiB");
        await using RawClient stopped = await RawClient.ConnectAsync(service.Url, receiveBuffer: 65536);
        await stopped.SendAsync("/object/a");
        await Eventually.TrueAsync(() => origin.RequestCount == 1, "fill");
        List<RawClient> others = [];
        for (int count = 0; count < 9; count++)
        {
            others.Add(await RawClient.ConnectAsync(service.Url, receiveBuffer: 256 * 1024));
            await others[^1].SendAsync("/object/a");
        }

        await service.JoinedAsync(9);
        joined.SetResult();
        Task[] reading = [.. others.Select(ReadAsync)];
        await SharingTests.WaitForClientsAsync(service, waiting: 1);
        Assert.All(reading, task => Assert.False(task.IsCompleted));
        for (int second = 0; service.Host.Metrics.CutReaders == 0; second++)
        {
            Assert.InRange(second, 0, 537);
            service.Time.Advance(TimeSpan.FromSeconds(1));
        }

        await Task.WhenAll(reading);
        Assert.True((await stopped.ReadToCloseAsync()).Length < Pieces * piece.Length);
        Assert.Equal((1, "rate=1"), (origin.RequestCount, service.ReasonsOf("cache_readers_cut_total")));
        others.ForEach(client => client.Vanish());
        await service.IsAtRestAsync();

        async Task ReadAsync(RawClient client)
        {
            await client.ReadHeadAsync();
            for (int number = 0; number < Pieces; number++)
            {
                Assert.True(await client.ReadExactlyAsync(piece.Length) == piece, $"piece {number}");
            }
        }
    }

    /// <summary>Of these, 12 of 20 were cut when the fastest set the pace.</summary>
    [Fact]
    public async Task LargeBody_WithOneFastReaderOfTwenty_ReachesAllWholeAtThePaceOfTheSlowest()
    {
        const int MaxObjectBytes = 1 << 20;
        const int ReadAheadBytes = 256 << 10;
        string body = string.Concat(Enumerable.Range(0, 3 << 19).Select(number => $"{number:x8}"));
        TaskCompletionSource joined = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await joined.Task;
            await exchange.SendAsync($"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{body.Length:x}\r\n{body}\r\n0\r\n\r\n");
        });
        await using TestService service = await TestService.StartAsync(
            origin.Url, "--Cache:DefaultTtl=60s", $"--Cache:MaxObjectBytes={MaxObjectBytes}", $"--Cache:ReadAheadBytes={ReadAheadBytes}");
        List<RawClient> clients = [];
        for (int count = 0; count < 20; count++)
        {
            clients.Add(await RawClient.ConnectAsync(service.Url, receiveBuffer: 65536));
            await clients[^1].SendAsync("/object/a");
        }

        await service.JoinedAsync(19);
        joined.SetResult();

        // The fast one takes what there is, and waits for the others, who have not taken anything yet.
        Task<(RawResponse Head, string Body)> fast = clients[0].ReadAsync();
        await SharingTests.ReadUntilStalledAsync(() => service.Host.Metrics.SentBytes);
        Assert.False(fast.IsCompleted);
        Assert.InRange(service.Host.Cache.Ledger.InFlightBytes, 1, MaxObjectBytes + ReadAheadBytes + (128 << 10));
        (RawResponse Head, string Body)[] answers = await Task.WhenAll([fast, .. clients.Skip(1).Select(client => client.ReadAsync())]);

        Assert.All(answers, answer => Assert.True(answer.Body == body));
        Assert.Equal((1, 0L), (origin.RequestCount, service.Host.Metrics.CutReaders));
        clients.ForEach(client => client.Vanish());
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Bodies_OverTheRoomInFlight_AreDetachedAndNewFillsGet503()
    {
        TaskCompletionSource rest = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            // More than one read takes: a body that is there as a whole needs no room in flight.
            int length = exchange.Target == "/large" ? 200_000 : 40_000;
            await exchange.SendAsync($"HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: {length}\r\n\r\n"
                + new string('x', length - 10_000));
            if (length == 40_000)
            {
                await rest.Task;
            }

            await exchange.SendAsync(new string('x', 10_000));
        });
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:MaxInFlightBytes=40000");

        Assert.Equal(200_000, (await service.FetchAsync("/object/large")).Body.Length);
        await service.IsAtRestAsync();
        Assert.Equal(0, service.Host.Cache.Store.Count);

        // This one takes all the room, and not more.
        await using RawClient first = await service.GetAsync("/object/a");
        RawResponse head = await first.ReadHeadAsync();
        await Eventually.TrueAsync(() => service.Host.Cache.Ledger.InFlightBytes == 40_000, "first body in flight");

        (RawResponse refused, _) = await service.FetchAsync("/object/b");

        rest.SetResult();
        Assert.Equal(
            (503, "1", "CachingService; detail=too-many-bytes-in-flight"),
            (refused.Status, refused["Retry-After"], refused.CacheStatus));
        Assert.Equal("too-many-bytes-in-flight=1", service.ReasonsOf("cache_refusals_total"));
        Assert.Equal(40_000, (await first.ReadBodyAsync(head)).Length);
        await service.IsAtRestAsync();
        Assert.Equal(1, service.Host.Cache.Store.Count);
    }

    private static async Task SendEndlesslyAsync(OriginExchange exchange, Action<long> report)
    {
        await exchange.SendAsync("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n\r\n");
        byte[] piece = new byte[65536];
        for (long sent = 0L; ; sent += piece.Length)
        {
            report(sent);
            await exchange.SendAsync(piece);
        }
    }
}
