using System.Text.Json;
using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Options;
using IoUringCache.Caching.Telemetry;

namespace CachingService.Tests.Logs;

/// <summary>What the access log says of requests, and where. A service that has ended has written all of it.</summary>
public sealed class AccessLogTests : IDisposable
{
    private readonly DirectoryInfo _directory = Directory.CreateTempSubdirectory();

    private string LogPath => Path.Combine(_directory.FullName, "access.log");

    public void Dispose() => _directory.Delete(recursive: true);

    [Fact]
    public async Task Json_SaysWhatBecameOfEachRequest()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("body"));
        await using (TestService service = await StartAsync(origin))
        {
            await service.StoreAsync("/object/a?b=%22c", "Referer: http://x.test/?signature=a\r\nUser-Agent: \"Ü\"\r\n");
            await service.FetchAsync("/object/a?b=%22c");
            await service.FetchAsync("/object/a?b=%22c", method: "HEAD");
            await service.FetchAsync("/object/a", "Content-Length: 0\r\n", "POST");
            await service.FetchAsync("/health");
            await service.FetchAsync("/other");
        }

        JsonElement[] lines = ReadJson();
        Assert.Equal(
            [
                ("GET", "/object/a", "b=%22c", 200, 4, "miss", "CachingService; fwd=uri-miss; fwd-status=200; stored"),
                ("GET", "/object/a", "b=%22c", 200, 4, "hit", "CachingService; hit; ttl=60"),
                ("HEAD", "/object/a", "b=%22c", 200, 0, "hit", "CachingService; hit; ttl=60"),
                ("POST", "/object/a", null, 200, 4, "pass", "CachingService; fwd=method; fwd-status=200"),
                ("GET", "/health", null, 200, 2, null, null),
                ("GET", "/other", null, 404, 0, null, "CachingService; detail=unknown-path"),
            ],
            lines.Select(static line => (
                line.GetProperty("method").GetString(), line.GetProperty("path").GetString(), TextOf(line, "query"), line.GetProperty("status").GetInt32(),
                line.GetProperty("bytes").GetInt32(), TextOf(line, "cache"), TextOf(line, "cache_status"))));
        Assert.Equal(("http://x.test/?signature=REDACTED", "\"Ü\""), (TextOf(lines[0], "referer"), TextOf(lines[0], "user_agent")));
        Assert.All(lines, static line =>
        {
            Assert.Equal(("127.0.0.1", "cache.test", "HTTP/1.1"), (TextOf(line, "client"), TextOf(line, "host"), TextOf(line, "protocol")));
            Assert.InRange(line.GetProperty("time").GetDateTimeOffset(), DateTimeOffset.UtcNow - TimeSpan.FromHours(1), DateTimeOffset.UtcNow);
            Assert.InRange(line.GetProperty("duration").GetDouble(), double.Epsilon, 3600);
            Assert.Null(TextOf(line, "tls"));
        });
        Assert.Equal(
            [true, true, false, true, false, false],
            lines.Select(static line => line.TryGetProperty("first_byte", out JsonElement first) && first.GetDouble() <= line.GetProperty("duration").GetDouble()));
    }

    [Fact]
    public async Task Trace_IsThatOfTheClient()
    {
        const string Trace = "0af7651916cd43dd8448eb211c80319c";
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("body"));
        await using (TestService service = await StartAsync(origin))
        {
            await service.FetchAsync("/object/a", $"traceparent: 00-{Trace}-00000000000000aa-00\r\n");
            await service.FetchAsync("/object/a", "traceparent: nonsense\r\n");
        }

        Assert.Equal([Trace, null], ReadJson().Select(static line => TextOf(line, "trace_id")));
    }

    [Fact]
    public async Task Origin_IsTheAddressThatWasAskedLast()
    {
        TaskCompletionSource go = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using ScriptedOrigin gone = new(exchange => exchange.AnswerAsync("never"), isListening: false);
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await go.Task;
            await exchange.AnswerAsync("body");
        });
        await using (TestService service = await TestService.StartAsync(
            "", $"--AccessLog:Path={LogPath}", $"--Cache:Origins={gone.Url};{origin.Url}", "--Cache:OriginEjectAfter=0"))
        {
            await using RawClient leader = await service.GetAsync("/object/a");
            await Eventually.TrueAsync(() => origin.RequestCount == 1, "the next address is asked");
            await using RawClient joined = await service.GetAsync("/object/a");
            await service.JoinedAsync(1);
            go.SetResult();
            await leader.ReadAsync();
            await joined.ReadAsync();
            await service.FetchAsync("/object/a");
            await service.FetchAsync("/object/a", "Content-Length: 0\r\n", "POST");
        }

        Assert.Equal(
            [("hit", null), ("join", origin.Url), ("miss", origin.Url), ("pass", gone.Url)],
            ReadJson().Select(static line => (TextOf(line, "cache"), TextOf(line, "origin"))).Order());
    }

    [Fact]
    public async Task Slice_ThatIsNotStored_IsAMissOfAllThatIsTold()
    {
        TaskCompletionSource go = new(TaskCreationOptions.RunContinuationsAsynchronously);
        VersionedFile file = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            if (exchange.Number == 2)
            {
                await go.Task;
            }

            await file.AnswerAsync(exchange);
        });
        await using (TestService service = await StartAsync(origin, "--Cache:SliceBytes=64KiB"))
        {
            await service.FetchAsync("/object/a", "Range: bytes=0-9\r\n");
            await using RawClient leader = await service.GetAsync("/object/a", "Range: bytes=200000-200009\r\n");
            await using RawClient joined = await service.GetAsync("/object/a", "Range: bytes=200010-200019\r\n");
            await Eventually.TrueAsync(() => service.Host.Cache.Waiting.Count == 2, "both wait for the slice");
            go.SetResult();
            await leader.ReadAsync();
            await joined.ReadAsync();
            await service.FetchAsync("/object/a", "Range: bytes=200000-200009\r\n");
            file.Replace('b');
            await service.FetchAsync("/object/a", "Range: bytes=100000-100009\r\n");
            await service.IsAtRestAsync();

            Assert.Equal((1, 2, 1), (service.Host.Metrics.Hits, service.Host.Metrics.Misses, service.Host.Metrics.Joins));
            Assert.Equal((1, 2, 1, 1), (CountOf(RequestOutcome.Hit), CountOf(RequestOutcome.Miss), CountOf(RequestOutcome.Join), CountOf(RequestOutcome.Own)));

            long CountOf(RequestOutcome outcome) => service.Host.Metrics.Durations.Of(outcome).Count;
        }

        Assert.Equal(
            [
                ("hit", null, "CachingService; hit; ttl=60"),
                ("join", origin.Url, "CachingService; fwd=partial; collapsed"),
                ("miss", origin.Url, "CachingService; fwd=partial; fwd-status=206; stored"),
                ("miss", origin.Url, "CachingService; fwd=uri-miss; fwd-status=200; stored"),
                ("own", origin.Url, "CachingService; detail=slice-changed"),
            ],
            ReadJson().Select(static line => (TextOf(line, "cache"), TextOf(line, "origin"), TextOf(line, "cache_status"))).Order());
    }

    [Theory]
    [InlineData("Combined", """^127\.0\.0\.1 - - \[\d\d/[A-Z][a-z]{2}/2\d{3}:\d\d:\d\d:\d\d \+0000\] "GET /object/a\?b HTTP/1\.1" 200 4 "-" "a\\x22b\\x5CÜ" miss$""")]
    [InlineData("Common", """^127\.0\.0\.1 - - \[\d\d/[A-Z][a-z]{2}/2\d{3}:\d\d:\d\d:\d\d \+0000\] "GET /object/a\?b HTTP/1\.1" 200 4 miss$""")]
    public async Task OldFormats_AreThoseOfOtherServers(string format, string expected)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("body"));
        await using (TestService service = await StartAsync(origin, $"--AccessLog:Format={format}"))
        {
            await service.FetchAsync("/object/a?b", "User-Agent: a\"b\\Ü\r\n");
        }

        Assert.Matches(expected, Assert.Single(ReadLines()));
    }

    [Theory]
    [InlineData("Combined")]
    [InlineData("Common")]
    [InlineData("Json")]
    public async Task LongTarget_IsToldWhole(string format)
    {
        string[] targets = [.. Enumerable.Range(1, 8).Select(static times => $"/object/{new string('a', times * 470)}")];
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("body"));
        await using (TestService service = await StartAsync(origin, $"--AccessLog:Format={format}"))
        {
            foreach (string target in targets)
            {
                await service.FetchAsync(target);
            }
        }

        string[] lines = [.. ReadLines().OrderBy(static line => line.Length)]; // As the targets are; the log has them as they end.
        Assert.Equal(targets.Length, lines.Length);
        Assert.All(lines.Zip(targets), static each => Assert.Matches($"{each.Second}[ \"].*(miss|stored\")", each.First));
    }

    [Theory]
    [InlineData("a?b=c&expires=1795000000&key=first&signature=secret", "a?b=c&expires=1795000000&key=first&signature=REDACTED")]
    [InlineData("a?signature=secret&b=c&signature=secret&d", "a?signature=REDACTED&b=c&signature=REDACTED&d")]
    [InlineData("a?from=%2Fb%3Fkey%3Dfirst%26signature%3Dsecret%26d&e", "a?from=%2Fb%3Fkey%3Dfirst%26signature%3DREDACTED%26d&e")]
    [InlineData("a?from=%252Fb%253Fsignature%253Dsecret%2526d&e", "a?from=%252Fb%253Fsignature%253DREDACTED%2526d&e")]
    [InlineData("a?from=/b%3fsignature%3dsecret&signature=secret", "a?from=/b%3fsignature%3dREDACTED&signature=REDACTED")]
    [InlineData("signature=a?nosignature=b&signature", "signature=a?nosignature=b&signature")]
    public async Task Signature_OfTheTargetOrTheReferer_IsNotTold(string target, string expected)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("body"));
        await using (TestService service = await StartAsync(origin, "--AccessLog:Format=Combined"))
        {
            await service.FetchAsync($"/object/{target}", $"Referer: https://cache.test/{target}\r\n");
        }

        string line = Assert.Single(ReadLines());
        Assert.Contains($"\"GET /object/{expected} HTTP/1.1\" 200 4 \"https://cache.test/{expected}\"", line, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Tls_IsTold()
    {
        using TestCertificate certificate = new();
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("body"));
        await using (TestService service = await StartAsync(origin, certificate.Options))
        {
            await service.FetchAsync("/object/a");
        }

        Assert.Equal("TLSv1.3", TextOf(Assert.Single(ReadJson()), "tls"));
    }

    [Theory]
    [InlineData("", "192.0.2.7", "127.0.0.1")]
    [InlineData("10.0.0.0/8", "192.0.2.7", "127.0.0.1")]
    [InlineData("127.0.0.1", "192.0.2.7", "192.0.2.7")]
    [InlineData("127.0.0.1", "192.0.2.8, 192.0.2.7:4711", "192.0.2.7")]
    [InlineData("127.0.0.1", "[2001:db8::7]:4711", "2001:db8::7")]
    [InlineData("127.0.0.1;10.0.0.0/8", "192.0.2.7, 10.0.0.1", "192.0.2.7")]
    [InlineData("127.0.0.1;10.0.0.0/8", "10.0.0.2, 10.0.0.1", "10.0.0.2")]
    [InlineData("127.0.0.1", "nonsense", "127.0.0.1")]
    [InlineData("127.0.0.1", "", "127.0.0.1")]
    public async Task Client_IsTheOneThatTrustedProxiesName(string trusted, string forwarded, string expected)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("body"));
        await using (TestService service = await StartAsync(origin, $"--Cache:TrustedProxies={trusted}"))
        {
            await service.FetchAsync("/object/a", $"X-Forwarded-For: {forwarded}\r\n");
        }

        Assert.Equal(expected, TextOf(Assert.Single(ReadJson()), "client"));
    }

    [Fact]
    public async Task ClientThatLeavesBeforeTheAnswer_Is499()
    {
        TaskCompletionSource end = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using ScriptedOrigin origin = new(_ => end.Task);
        await using (TestService service = await StartAsync(origin))
        {
            await using RawClient client = await service.GetAsync("/object/a", "Cookie: a=b\r\n");
            await Eventually.TrueAsync(() => origin.RequestCount == 1, "the origin is asked");
            client.Vanish();
            await service.IsAtRestAsync();
        }

        end.SetResult();
        JsonElement line = Assert.Single(ReadJson());
        Assert.Equal((499, 0, "cut"), (line.GetProperty("status").GetInt32(), line.GetProperty("bytes").GetInt32(), TextOf(line, "cache")));
    }

    [Fact]
    public async Task PageOfTheOperator_HasItsBytes()
    {
        string pages = _directory.CreateSubdirectory("pages").FullName;
        await File.WriteAllTextAsync(Path.Combine(pages, "5xx.html"), "page", TestContext.Current.CancellationToken);
        await using ScriptedOrigin gone = new(exchange => exchange.AnswerAsync("never"), isListening: false);
        await using (TestService service = await StartAsync(gone, $"--Cache:ErrorPages={pages}", "--Cache:FillAttempts=1"))
        {
            Assert.Equal("page", (await service.FetchAsync("/object/a")).Body);
            await service.FetchAsync("/object/a", method: "HEAD");
        }

        Assert.Equal([("own", 4), ("own", 0)], ReadJson().Select(static line => (TextOf(line, "cache"), line.GetProperty("bytes").GetInt32())));
    }

    [Fact]
    public async Task Route_IsTold()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("body"));
        await using (TestService service = await StartAsync(origin, "--Cache:Routes:0:Prefix=live/"))
        {
            await service.FetchAsync("/object/live/a");
            await service.FetchAsync("/object/a");
        }

        Assert.Equal(["live/", null], ReadJson().Select(static line => TextOf(line, "route")));
    }

    [Fact]
    public async Task File_ThatWasMovedAway_IsBegunAnew()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("body"));
        string old = LogPath + ".old";
        await using (TestService service = await StartAsync(origin))
        {
            await service.FetchAsync("/object/before");

            // The client may have its answer before there is a line of it.
            await Eventually.TrueAsync(() => Array.Exists(ReadLines(), static line => line.Contains("/object/before", StringComparison.Ordinal)), "the line is written");
            File.Move(LogPath, old);

            service.Host.ReopenLogs();

            await Eventually.TrueAsync(() => File.Exists(LogPath), "there is a new file");
            await service.FetchAsync("/object/after");
        }

        // The line of the service's own first request may come after it.
        string[] moved = await File.ReadAllLinesAsync(old, TestContext.Current.CancellationToken);
        string before = Assert.Single(moved, static line => line.Contains("/object/", StringComparison.Ordinal));
        Assert.Contains("/object/before", before, StringComparison.Ordinal);
        Assert.Contains("/object/after", Assert.Single(ReadLines()), StringComparison.Ordinal);
    }

    /// <summary>As <c>copytruncate</c> of logrotate does.</summary>
    [Fact]
    public async Task File_ThatWasCut_GoesOnAtItsEnd()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("body"));
        await using (TestService service = await StartAsync(origin))
        {
            await service.FetchAsync("/object/before");
            await Eventually.TrueAsync(() => ReadLines().Length == 1, "the line is written");
            await File.WriteAllTextAsync(LogPath, "", TestContext.Current.CancellationToken);
            await service.FetchAsync("/object/after");
        }

        Assert.Equal("/object/after", TextOf(Assert.Single(ReadJson()), "path"));
    }

    [Fact]
    public async Task FullFiles_GetNumbers_AndTheOldestGoes()
    {
        const int Requests = 12;
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("body"));
        await using (TestService service = await StartAsync(origin, "--AccessLog:MaxBytes=4KiB", "--AccessLog:KeepFiles=2"))
        {
            for (int number = 0; number < Requests; number++)
            {
                await service.FetchAsync($"/object/{number}?{new string('x', 2000)}");
                await Eventually.TrueAsync(() => Read("access_log_lines_total") == number + 2, "the line is written, after that of the warm-up");
            }

            double Read(string name) => service.Host.Cache.Collector.Read().Single(figure => figure.Name == name).Value;
        }

        // Two lines fill a file.
        Assert.Equal(["access.log", "access.log.1", "access.log.2"], _directory.GetFiles().Select(static file => file.Name).Order());
        Assert.Equal(
            ["/object/6", "/object/7", "/object/8", "/object/9", "/object/10", "/object/11"],
            ((string[])[LogPath + ".2", LogPath + ".1", LogPath]).SelectMany(File.ReadLines).Select(static line => JsonElement.Parse(line)).Select(static line => TextOf(line, "path")));
    }

    [Fact]
    public async Task DiskThatIsFull_IsSaidAndHoldsNoRequestUp()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("body"));
        await using TestService service = await StartAsync(origin, "--AccessLog:Path=/dev/full");

        Assert.Equal("body", (await service.FetchAsync("/object/a")).Body);

        await Eventually.TrueAsync(() => service.Log.Warnings.Count > 0, "the loss is said");
        Assert.Matches("^The access log has lost lines: [12] \\(.*[Nn]o space left.*\\)$", Assert.Single(service.Log.Warnings));
        Assert.Equal("body", (await service.FetchAsync("/object/a")).Body);
    }

    [Theory]
    [InlineData("--AccessLog:Path=/missing/access.log", "Option AccessLog:Path: cannot write to '/missing/access.log': ")]
    [InlineData("--AccessLog:Format=Xml", "Option AccessLog:Format: 'Xml' is not valid: expected one of Json, Combined, Common.")]
    [InlineData("--AccessLog:MaxBytes=1", "Option AccessLog:MaxBytes: '1' is not valid: expected 4096 to ")]
    [InlineData("--AccessLog:QueueBytes=1", "Option AccessLog:QueueBytes: '1' is not valid: expected 131072 to ")]
    [InlineData("--AccessLog:KeepFiles=0", "Option AccessLog:KeepFiles: '0' is not valid: expected a whole number from 1 to 1000.")]
    [InlineData("--AccessLog:Pth=a", "Option --AccessLog:Pth is not known. Did you mean AccessLog:Path?")]
    public async Task WrongOption_StopsTheStart(string option, string message)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("body"));

        OptionException failure = await Assert.ThrowsAsync<OptionException>(() => TestService.StartAsync(origin.Url, option));

        Assert.StartsWith(message, failure.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Size_OfStandardOutput_IsNoOption()
    {
        OptionException failure = await Assert.ThrowsAsync<OptionException>(
            () => TestService.StartAsync("http://a", "--AccessLog:Path=-", "--AccessLog:MaxBytes=1MiB"));

        Assert.Equal("Option AccessLog:MaxBytes: cannot be given where AccessLog:Path is no file.", failure.Message);
    }

    private static string? TextOf(JsonElement line, string name) => line.TryGetProperty(name, out JsonElement value) ? value.GetString() : null;

    /// <summary>In the order in which the requests came: a client may have its answer, and ask for the next one, before there is a line of it.</summary>
    private JsonElement[] ReadJson() =>
        [.. ReadLines().Select(static line => JsonElement.Parse(line)).OrderBy(static line => line.GetProperty("time").GetDateTimeOffset())];

    /// <summary>Without the service's own first request.</summary>
    private string[] ReadLines() =>
        [.. File.ReadLines(LogPath).Where(static line => !line.Contains("(warm-up)", StringComparison.Ordinal) && !line.Contains("GET /health", StringComparison.Ordinal))];

    private Task<TestService> StartAsync(ScriptedOrigin origin, params string[] options) => TestService.StartAsync(
        origin.Url, [.. options.Any(static option => option.StartsWith("--AccessLog:Path", StringComparison.Ordinal)) ? [] : (string[])[$"--AccessLog:Path={LogPath}"], .. options]);
}
