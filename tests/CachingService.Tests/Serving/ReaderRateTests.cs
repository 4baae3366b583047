using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Serving;

/// <summary>
/// The minimum rate of readers, by the service's clock: on every way of a body to a client, one that keeps twice the rate gets all of it, and
/// one that keeps half of the rate, or stops, is cut in time.
/// </summary>
public sealed class ReaderRateTests
{
    private const int Length = ServedBody.Length;

    /// <summary>
    /// Of the default rate, 240 bytes per second: 5 s, the time for 96 KiB and 120 s, with a look that may find progress before and one after.
    /// </summary>
    private const int LongestWaitSeconds = 537;

    private static readonly string s_body = new('x', Length);

    private static readonly string[] s_ways =
    [
        "hit", "hit, large window", "hit, TLS", "hit, sockets", "hit, HTTP/1.0", "hit, chunked", "hit, chunked, TLS, sockets", "miss, live",
        "pass", "pass, TLS", "pass, chunked, sockets", "range", "ranges", "ranges, TLS", "file", "file, ranges, sockets", "file, HTTP/2",
        "hit, HTTP/2", "hit, HTTP/2, TLS", "pass, HTTP/2, sockets", "hit, HTTP/2 behind TCP", "hit, Unix", "pass, Unix, sockets",
    ];

    public static TheoryData<string, int> KeptRates => Each(100_000, 10_000, 480);

    public static TheoryData<string, int> MissedRates => Each(120, 0);

    [Theory]
    [MemberData(nameof(KeptRates))]
    public async Task Reader_AtTwiceTheRateOrMore_GetsTheWholeBody(string way, int bytesPerSecond)
    {
        await using ServedBody served = await ServedBody.StartAsync(way);
        await using PacedReader reader = await served.StartReaderAsync();

        // Longer than one at half of the rate has.
        for (int second = 0; second < 2 * LongestWaitSeconds && reader.Taken + bytesPerSecond < Length; second++)
        {
            await reader.ReadAsync(bytesPerSecond);
            await served.KeepsUpWithAsync(reader, second);
            served.Service.Time.Advance(TimeSpan.FromSeconds(1));
        }

        served.Go();
        Assert.True(await reader.TryReadToEndAsync(served.IsEndUnseen ? Length : long.MaxValue), $"cut after {reader.Taken} bytes");
        Assert.InRange(reader.Taken, Length, Length + (Length / 100));
        Assert.Equal(0, served.Service.Host.Metrics.CutReaders);
    }

    [Theory]
    [MemberData(nameof(MissedRates))]
    public async Task Reader_AtHalfOfTheRateOrLess_IsCutInTime(string way, int bytesPerSecond)
    {
        await using ServedBody served = await ServedBody.StartAsync(way);
        await using PacedReader reader = await served.StartReaderAsync();
        await served.WaitsForReaderAsync();

        int limit = bytesPerSecond == 0 ? LongestWaitSeconds : 2 * LongestWaitSeconds;
        int seconds = 0;
        for (; seconds <= limit && served.Service.Host.Metrics.CutReaders == 0; seconds++)
        {
            await reader.ReadAsync(bytesPerSecond);

            // The clock stands still while the service is busy with the next piece: nobody is charged for that time.
            await Eventually.TrueAsync(() => served.IsWaitingForReader || served.Service.Host.Metrics.CutReaders > 0, "the service waits");
            served.Service.Time.Advance(TimeSpan.FromSeconds(1));
        }

        // The clock may be ahead of the service, but not of what it decides.
        await Eventually.TrueAsync(() => served.Service.Host.Metrics.CutReaders == 1, $"it is cut within {limit} s");
        Assert.InRange(seconds, 5, int.MaxValue);
        Assert.False(await reader.TryReadToEndAsync() && (!served.IsLocal || reader.Taken >= Length), "The end is in order.");
        await Eventually.TrueAsync(() => served.Service.Host.Metrics is { ActiveReaders: 0, ActivePasses: 0 }, "the answer has ended");
        served.Go();
        await served.Service.IsAtRestAsync();
        Assert.Equal(1, served.Service.Host.Metrics.CutReaders);
    }

    [Theory]
    [InlineData("hit")]
    [InlineData("hit, sockets")]
    [InlineData("hit, HTTP/2 behind TCP")]
    public async Task Reader_ThatStopsAfterItWasFast_IsCutAsSoonAsAnyOther(string way)
    {
        await using ServedBody served = await ServedBody.StartAsync(way);
        await using PacedReader reader = await served.StartReaderAsync();
        for (int second = 0; second < 3; second++)
        {
            await reader.ReadAsync(1_000_000);
            await served.KeepsUpWithAsync(reader, second);
            served.Service.Time.Advance(TimeSpan.FromSeconds(1));
        }

        await served.WaitsForReaderAsync();
        for (int second = 0; second < LongestWaitSeconds; second++)
        {
            served.Service.Time.Advance(TimeSpan.FromSeconds(1));
        }

        Assert.Equal(1, served.Service.Host.Metrics.CutReaders);
        Assert.False(await reader.TryReadToEndAsync());
    }

    /// <summary>As curl does, which reads what its limit allows for 100 s, and then nothing for as long.</summary>
    [Theory]
    [InlineData("hit", 20_000, 100, true)]
    [InlineData("hit, sockets", 20_000, 100, true)]
    [InlineData("hit, HTTP/2 behind TCP", 20_000, 100, true)]
    [InlineData("hit", 5_000, 100, false)]
    [InlineData("hit, sockets", 5_000, 100, false)]
    [InlineData("hit, HTTP/2 behind TCP", 5_000, 100, false)]
    public async Task Reader_ThatReadsAheadAndPauses_IsJudgedByItsRate(string way, int bytesPerSecond, int seconds, bool isKept)
    {
        await using ServedBody served = await ServedBody.StartAsync(way, "--Cache:MinReaderRate=10000");
        await using PacedReader reader = await served.StartReaderAsync();
        for (int second = 0; second < 3 * seconds && served.Service.Host.Metrics.CutReaders == 0; second++)
        {
            if (second % seconds == 0)
            {
                await reader.ReadAsync(bytesPerSecond * seconds);
                await served.WaitsForReaderAsync();
            }

            served.Service.Time.Advance(TimeSpan.FromSeconds(1));
        }

        Assert.Equal(isKept ? 0 : 1, served.Service.Host.Metrics.CutReaders);
    }

    /// <summary>
    /// As TCP does for a client that reads at twice the rate: nothing until a large part of its buffer is free, and then until a window probe
    /// finds that, which may be as late again, or 120 s late.
    /// </summary>
    [Theory]
    [InlineData("hit", 240)]
    [InlineData("hit, TLS", 240)]
    [InlineData("hit, sockets", 240)]
    [InlineData("pass", 240)]
    [InlineData("range", 240)]
    [InlineData("file", 240)]
    [InlineData("hit, HTTP/2 behind TCP", 240)]
    [InlineData("hit", 400)]
    [InlineData("hit", 624)]
    [InlineData("hit", 1024)]
    [InlineData("hit, sockets", 1024)]
    [InlineData("hit, HTTP/2 behind TCP", 1024)]
    [InlineData("hit", 7168)]
    public async Task Reader_ThatTakesLargeSteps_GetsItsTime(string way, int minimumRate)
    {
        await using ServedBody served = await ServedBody.StartAsync(way, $"--Cache:MinReaderRate={minimumRate}");
        await using PacedReader reader = await served.StartReaderAsync();
        foreach (int step in (int[])[192 * 1024, 128 * 1024, 192 * 1024, 320 * 1024, 512 * 1024, 512 * 1024])
        {
            int open = step / (2 * minimumRate);
            int silence = open + Math.Min(open, 120);
            await served.WaitsForReaderAsync();
            for (int second = 0; second < silence; second++)
            {
                served.Service.Time.Advance(TimeSpan.FromSeconds(1));
                Assert.True(served.Service.Host.Metrics.CutReaders == 0, $"cut after {second} s before a step of {step} bytes");
            }

            await reader.ReadAsync(2 * minimumRate * silence);
        }
    }

    [Theory]
    [InlineData("hit")]
    [InlineData("hit, sockets")]
    [InlineData("hit, HTTP/2 behind TCP")]
    public async Task Reader_ThatTakesLargeStepsAtHalfOfTheRate_IsCutInTime(string way)
    {
        await using ServedBody served = await ServedBody.StartAsync(way);
        await using PacedReader reader = await served.StartReaderAsync();
        int seconds = 0;
        for (; served.Service.Host.Metrics.CutReaders == 0; seconds++)
        {
            Assert.InRange(seconds, 0, 2 * LongestWaitSeconds);
            if (seconds % 320 == 0)
            {
                await reader.ReadAsync(120 * 320);
                await served.WaitsForReaderAsync();
            }

            served.Service.Time.Advance(TimeSpan.FromSeconds(1));
        }
    }

    [Theory]
    [InlineData("HTTP/1.1")]
    [InlineData("HTTP/2")]
    public async Task Reader_SlowerThanTheRateOfItsRoute_IsCutAndAnotherRouteIsNot(string version)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync(s_body));
        await using TestService service = await TestService.StartAsync(
            origin.Url, "--Cache:MinReaderRate=1", "--Cache:Routes:0:Prefix=a", "--Cache:Routes:0:MinReaderRate=1MiB",
            "--Cache:Routes:1:Prefix=b", "--Cache:Routes:1:MinReaderRate=0", $"--Protocols={(version == "HTTP/2" ? "Http2" : "Http1")}");
        using Http2Client http2 = new(service.Url);
        await using PacedReader slow = await StartAsync("/object/a");
        await using PacedReader unlimited = await StartAsync("/object/b");
        await using PacedReader other = await StartAsync("/object/c");
        await SharingTests.WaitForClientsAsync(service, waiting: 2);
        for (int second = 0; second < 10; second++)
        {
            service.Time.Advance(TimeSpan.FromSeconds(1));
        }

        await Eventually.TrueAsync(() => service.Host.Metrics.ActiveReaders == 2, "the slow one has left");
        Assert.False(await slow.TryReadToEndAsync());
        Assert.True(await unlimited.TryReadToEndAsync(Length));
        Assert.True(await other.TryReadToEndAsync(Length));
        Assert.Equal(1, service.Host.Metrics.CutReaders);

        // Over HTTP/2 all three had one connection.
        Assert.InRange(http2.Connections, 0, 1);

        Task<PacedReader> StartAsync(string target) =>
            version == "HTTP/2" ? PacedReader.StartHttp2Async(http2, target) : PacedReader.StartAsync(service.Url, target);
    }

    [Fact]
    public async Task Stream_BesideOneThatIsRead_IsCutAlone()
    {
        await using ServedBody served = await ServedBody.StartAsync("hit, HTTP/2");
        await using PacedReader stopped = await served.StartReaderAsync();
        await served.WaitsForReaderAsync();

        // A look that finds bytes of the connection with the kernel takes a part of them for this stream's, and its client for one that reads.
        await Eventually.TrueAsync(() => SendQueues.BytesOf(served.Service.Url) == 0, "the client has all that was sent");
        served.Service.Time.Advance(TimeSpan.FromSeconds(1));
        await using PacedReader read = await served.StartReaderAsync();
        for (int second = 0; second < LongestWaitSeconds; second++)
        {
            await read.ReadAsync(20_000);
            await served.KeepsUpWithAsync(read, second);
            served.Service.Time.Advance(TimeSpan.FromSeconds(1));
        }

        Assert.Equal(1L, served.Service.Host.Metrics.CutReaders);
        Assert.True(await read.TryReadToEndAsync());
        Assert.Equal(Length, read.Taken);
        Assert.False(await stopped.TryReadToEndAsync());
    }

    [Fact]
    public async Task Reader_OfALiveBodyThatPauses_IsNotCut()
    {
        TaskCompletionSource go = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 6\r\n\r\nabc");
            await go.Task;
            await exchange.SendAsync("def");
        });
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:OriginIdleTimeout=1h", "--Cache:MaxFillAge=1d");
        await using RawClient client = await service.GetAsync("/object/a");
        RawResponse head = await client.ReadHeadAsync();
        Assert.Equal("abc", await client.ReadExactlyAsync(3));

        for (int minute = 0; minute < 50; minute++)
        {
            service.Time.Advance(TimeSpan.FromMinutes(1));
        }

        go.SetResult();
        Assert.Equal(("6", "def"), (head["Content-Length"], await client.ReadExactlyAsync(3)));
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task ShortBodies_AskedForInARowAndNotRead_EndInACut()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync(new string('x', 1_000)));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.StoreAsync("/object/a");
        await using RawClient client = await RawClient.ConnectAsync(service.Url, receiveBuffer: 65536);
        string many = string.Concat(Enumerable.Repeat("GET /object/a HTTP/1.1\r\nHost: cache.test\r\n\r\n", 10_000));
        Task sending = client.SendRawAsync(many);
        await SharingTests.WaitForClientsAsync(service, waiting: 1);

        for (int second = 0; second < LongestWaitSeconds; second++)
        {
            service.Time.Advance(TimeSpan.FromSeconds(1));
        }

        Assert.Equal(1, service.Host.Metrics.CutReaders);
        await client.ReadToCloseAsync();
        Assert.True(client.IsReset);
        await Record.ExceptionAsync(() => sending);
        await service.IsAtRestAsync();
    }

    private static TheoryData<string, int> Each(params int[] rates)
    {
        TheoryData<string, int> data = new();
        foreach (string way in s_ways)
        {
            foreach (int rate in rates)
            {
                data.Add(way, rate);
            }
        }

        return data;
    }
}
