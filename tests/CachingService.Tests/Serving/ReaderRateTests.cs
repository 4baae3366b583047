using CachingService.Tests.Files;
using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Serving;

/// <summary>
/// The minimum rate of readers, by the service's clock: on every way of a body to a client, one that keeps twice the rate gets all of it, and
/// one that keeps half of the rate, or stops, is cut in time.
/// </summary>
public sealed class ReaderRateTests
{
    /// <summary>More than the kernel takes for a client that reads nothing.</summary>
    private const int Length = 12_000_000;

    /// <summary>
    /// Of the default rate, 240 bytes per second: 5 s and the time for 96 KiB, with a look that may find progress before and one after.
    /// </summary>
    private const int LongestWaitSeconds = 417;

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
        await using World world = await World.StartAsync(way);
        await using PacedReader reader = await world.StartReaderAsync();

        // Longer than one at half of the rate has.
        for (int second = 0; second < 2 * LongestWaitSeconds && reader.Taken + bytesPerSecond < Length; second++)
        {
            await reader.ReadAsync(bytesPerSecond);
            await world.KeepsUpWithAsync(reader, second);
            world.Service.Time.Advance(TimeSpan.FromSeconds(1));
        }

        world.Go();
        Assert.True(await reader.TryReadToEndAsync(world.IsEndUnseen ? Length : long.MaxValue), $"cut after {reader.Taken} bytes");
        Assert.InRange(reader.Taken, Length, Length + (Length / 100));
        Assert.Equal(0, world.Service.Host.Metrics.CutReaders);
    }

    [Theory]
    [MemberData(nameof(MissedRates))]
    public async Task Reader_AtHalfOfTheRateOrLess_IsCutInTime(string way, int bytesPerSecond)
    {
        await using World world = await World.StartAsync(way);
        await using PacedReader reader = await world.StartReaderAsync();
        await world.WaitsForReaderAsync();

        int seconds = 0;
        for (; world.Service.Host.Metrics.CutReaders == 0; seconds++)
        {
            Assert.InRange(seconds, 0, bytesPerSecond == 0 ? LongestWaitSeconds : 2 * LongestWaitSeconds);
            await reader.ReadAsync(bytesPerSecond);
            world.Service.Time.Advance(TimeSpan.FromSeconds(1));
        }

        Assert.InRange(seconds, 5, int.MaxValue);
        Assert.False(await reader.TryReadToEndAsync() && (!world.IsLocal || reader.Taken >= Length), "The end is in order.");
        await Eventually.TrueAsync(() => world.Service.Host.Metrics is { ActiveReaders: 0, ActivePasses: 0 }, "the answer has ended");
        world.Go();
        await world.Service.IsAtRestAsync();
        Assert.Equal(1, world.Service.Host.Metrics.CutReaders);
    }

    [Theory]
    [InlineData("hit")]
    [InlineData("hit, sockets")]
    [InlineData("hit, HTTP/2 behind TCP")]
    public async Task Reader_ThatStopsAfterItWasFast_IsCutAsSoonAsAnyOther(string way)
    {
        await using World world = await World.StartAsync(way);
        await using PacedReader reader = await world.StartReaderAsync();
        for (int second = 0; second < 3; second++)
        {
            await reader.ReadAsync(1_000_000);
            await world.KeepsUpWithAsync(reader, second);
            world.Service.Time.Advance(TimeSpan.FromSeconds(1));
        }

        await world.WaitsForReaderAsync();
        for (int second = 0; second < LongestWaitSeconds; second++)
        {
            world.Service.Time.Advance(TimeSpan.FromSeconds(1));
        }

        Assert.Equal(1, world.Service.Host.Metrics.CutReaders);
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
        await using World world = await World.StartAsync(way, "--Cache:MinReaderRate=10000");
        await using PacedReader reader = await world.StartReaderAsync();
        for (int second = 0; second < 3 * seconds && world.Service.Host.Metrics.CutReaders == 0; second++)
        {
            if (second % seconds == 0)
            {
                await reader.ReadAsync(bytesPerSecond * seconds);
                await world.WaitsForReaderAsync();
            }

            world.Service.Time.Advance(TimeSpan.FromSeconds(1));
        }

        Assert.Equal(isKept ? 0 : 1, world.Service.Host.Metrics.CutReaders);
    }

    /// <summary>
    /// As TCP does for a client that reads slowly: nothing until half of a receive buffer is free, and then until the next
    /// window probe, which may come half as late again.
    /// </summary>
    [Theory]
    [InlineData("hit", 480, true)]
    [InlineData("hit, TLS", 480, true)]
    [InlineData("hit, sockets", 480, true)]
    [InlineData("pass", 480, true)]
    [InlineData("range", 480, true)]
    [InlineData("file", 480, true)]
    [InlineData("hit, HTTP/2 behind TCP", 480, true)]
    [InlineData("hit", 120, false)]
    [InlineData("hit, sockets", 120, false)]
    [InlineData("hit, HTTP/2 behind TCP", 120, false)]
    public async Task Reader_ThatTakesLargeSteps_IsJudgedByItsRate(string way, int bytesPerSecond, bool isKept)
    {
        await using World world = await World.StartAsync(way);
        await using PacedReader reader = await world.StartReaderAsync();
        foreach (int silence in (int[])[320, 213, 320, 537, 640, 640])
        {
            await world.WaitsForReaderAsync();
            for (int second = 0; second < silence && world.Service.Host.Metrics.CutReaders == 0; second++)
            {
                world.Service.Time.Advance(TimeSpan.FromSeconds(1));
            }

            if (world.Service.Host.Metrics.CutReaders != 0)
            {
                break;
            }

            await reader.ReadAsync(bytesPerSecond * silence);
        }

        Assert.Equal(isKept ? 0 : 1, world.Service.Host.Metrics.CutReaders);
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
        await using World world = await World.StartAsync("hit, HTTP/2");
        await using PacedReader stopped = await world.StartReaderAsync();
        await world.WaitsForReaderAsync();

        // A look that finds bytes of the connection with the kernel takes a part of them for this stream's, and its client for one that reads.
        await Eventually.TrueAsync(() => SendQueues.BytesOf(world.Service.Url) == 0, "the client has all that was sent");
        world.Service.Time.Advance(TimeSpan.FromSeconds(1));
        await using PacedReader read = await world.StartReaderAsync();
        for (int second = 0; second < LongestWaitSeconds; second++)
        {
            await read.ReadAsync(20_000);
            await world.KeepsUpWithAsync(read, second);
            world.Service.Time.Advance(TimeSpan.FromSeconds(1));
        }

        Assert.Equal(1L, world.Service.Host.Metrics.CutReaders);
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

    /// <summary>A service with a large body on one way to its client, and what that asks for it with.</summary>
    private sealed class World(
        string way, TestService service, ScriptedOrigin origin, ServedFolder folder, TestCertificate certificate, TaskCompletionSource go)
        : IAsyncDisposable
    {
        private Http2Client? _http2;
        private long _sentBefore;

        public TestService Service => service;

        /// <summary>Whether the connection knows no reset.</summary>
        public bool IsLocal => Is("Unix");

        /// <summary>Whether the client does not look at frames, and so cannot tell the end.</summary>
        public bool IsEndUnseen => Is("behind TCP");

        public static async Task<World> StartAsync(string way, params string[] options)
        {
            bool isChunked = way.Contains("chunked", StringComparison.Ordinal) || way.Contains("live", StringComparison.Ordinal);
            bool isLive = way.Contains("live", StringComparison.Ordinal);
            TaskCompletionSource go = new(TaskCreationOptions.RunContinuationsAsynchronously);
            ScriptedOrigin origin = new(async exchange =>
            {
                await exchange.SendAsync("HTTP/1.1 200 OK\r\nCache-Control: max-age=600000\r\n" + (isChunked
                    ? $"Transfer-Encoding: chunked\r\n\r\n{Length:x}\r\n{s_body}\r\n"
                    : $"Content-Length: {Length}\r\n\r\n{s_body}"));
                await (isLive ? go.Task : Task.CompletedTask);
                await exchange.SendAsync(isChunked ? "0\r\n\r\n" : "");
            });
            ServedFolder folder = new();
            folder.Fill("a", 'x', Length);
            TestCertificate certificate = new();
            string socket = Path.Combine(folder.Root, "socket");
            TestService service = await TestService.StartAsync(
                way.StartsWith("file", StringComparison.Ordinal) ? folder.Url : origin.Url,
                [
                    .. way.Contains("TLS", StringComparison.Ordinal) ? certificate.Options : [],
                    .. way.Contains("Unix", StringComparison.Ordinal) ? (string[])[$"--Urls=http://unix:{socket}"] : [],
                    .. way.Contains("HTTP/2", StringComparison.Ordinal) ? (string[])["--Protocols=Http2"] : [],
                    $"--Transport={(way.Contains("sockets", StringComparison.Ordinal) ? "Sockets" : TestService.Transport)}",
                    "--Cache:MaxFillAge=1d", "--Cache:OriginIdleTimeout=1h", .. options,
                ]);
            World world = new(way, service, origin, folder, certificate, go);
            if (world.Is("hit") || world.Is("range") && !world.Is("file"))
            {
                await using PacedReader first = await world.StartReaderAsync(fields: "");
                Assert.True(await first.TryReadToEndAsync(world.IsEndUnseen ? Length : long.MaxValue));
                await service.IsAtRestAsync();
                world._sentBefore = service.Host.Metrics.SentBytes;
            }

            return world;
        }

        public Task<PacedReader> StartReaderAsync() => StartReaderAsync(
            Is("pass") ? "Cookie: a=b\r\n"
            : Is("ranges") ? "Range: bytes=0-3999999,4000001-11999999\r\n"
            : Is("range") ? "Range: bytes=0-\r\n" : "");

        /// <summary>
        /// Waits until the service has sent what the client has made room for: by the clock of the tests hardly any time passes meanwhile, and
        /// for a client in the world plenty.
        /// </summary>
        public async Task KeepsUpWithAsync(PacedReader reader, int second)
        {
            // Passes and files are counted when they are flushed, 64 KiB at a time.
            long ahead = (Is("pass") || Is("file") ? -16 : 48) * 1024;
            await Eventually.TrueAsync(
                () => service.Host.Metrics.SentBytes - _sentBefore >= Math.Min(Length - 1, reader.Taken + ahead), "the service keeps up");
            if (_http2 is not null && second % 16 == 0)
            {
                // The service has heard of a larger window before it answers this; and it is still the same connection.
                using HttpResponseMessage answer = await _http2.GetAsync("/health");
                Assert.Equal(1, _http2.Connections);
            }
        }

        /// <summary>The kernel takes no more for a client that has not read more than the head.</summary>
        public Task WaitsForReaderAsync() => SharingTests.WaitForClientsAsync(service, waiting: 1);

        public void Go() => go.TrySetResult();

        public async ValueTask DisposeAsync()
        {
            Go();
            _http2?.Dispose();
            await service.DisposeAsync();
            await origin.DisposeAsync();
            folder.Dispose();
            certificate.Dispose();
        }

        private Task<PacedReader> StartReaderAsync(string fields) =>
            Is("behind TCP") ? PacedReader.StartHttp2BehindTcpAsync(service.Url, "/object/a")
            : Is("HTTP/2") ? PacedReader.StartHttp2Async(_http2 ??= new(service.Url), "/object/a", Is("pass") ? [("Cookie", "a=b")] : [])
            : PacedReader.StartAsync(
                service.Url, "/object/a", fields, Is("HTTP/1.0") ? "HTTP/1.0" : "HTTP/1.1", Is("large window") ? 65536 : 16384);

        private bool Is(string part) => way.Contains(part, StringComparison.Ordinal);
    }
}
