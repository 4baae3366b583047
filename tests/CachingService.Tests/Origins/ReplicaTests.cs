using System.Diagnostics;
using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Origins;

/// <summary>Several addresses of one origin: who is asked, who is left alone and for how long.</summary>
public sealed class ReplicaTests
{
    public static TheoryData<string> Failures => new(
        "", "HTTX\r\n\r\n",
        "HTTP/1.1 502 X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        "HTTP/1.1 503 X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        "HTTP/1.1 504 X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");

    [Fact]
    public async Task Healthy_First_IsAskedAlone()
    {
        await using ScriptedOrigin first = new(exchange => exchange.AnswerAsync("first"));
        await using ScriptedOrigin second = new(exchange => exchange.AnswerAsync("second"));
        await using TestService service = await StartAsync(first, second);

        for (int count = 0; count < 5; count++)
        {
            Assert.Equal("first", (await service.FetchAsync($"/object/{count}")).Body);
        }

        Assert.Equal(0, second.RequestCount);
    }

    [Theory]
    [InlineData("")]
    [InlineData("Cookie: a=b\r\n")]
    public async Task Failure_OfTheFirst_IsTriedAgainAtTheSecond(string fields)
    {
        await using ScriptedOrigin first = new(CloseAsync);
        await using ScriptedOrigin second = new(exchange => exchange.AnswerAsync("second"));
        await using TestService service = await StartAsync(first, second);

        Assert.Equal("second", (await service.FetchAsync("/object/a", fields)).Body);

        Assert.Equal((1, 1), (first.RequestCount, second.RequestCount));
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Failure_OfAll_IsTriedAsOftenAsAFillMay()
    {
        await using ScriptedOrigin first = new(CloseAsync);
        await using ScriptedOrigin second = new(CloseAsync);
        await using TestService service = await StartAsync(first, second, "--Cache:FillAttempts=3");

        Assert.Equal(502, (await service.FetchAsync("/object/a")).Head.Status);

        Assert.Equal((2, 1), (first.RequestCount, second.RequestCount));
    }

    /// <summary>The end of an idle connection may cross a request on its way, which says nothing of the address.</summary>
    [Theory]
    [InlineData("")]
    [InlineData("Cookie: a=b\r\n")]
    public async Task KeptConnection_ThatEndsUnderARequest_IsReplacedAndNoFailure(string fields)
    {
        await using ScriptedOrigin first = new(exchange =>
        {
            if (exchange.IsFirstOfConnection)
            {
                return exchange.AnswerAsync("first");
            }

            exchange.Close();
            return Task.CompletedTask;
        });
        await using ScriptedOrigin second = new(exchange => exchange.AnswerAsync("second"));
        await using TestService service = await StartAsync(first, second);

        Assert.Equal("first", (await service.FetchAsync("/object/a", fields)).Body);
        Assert.Equal("first", (await service.FetchAsync("/object/b", fields)).Body);

        Assert.Equal((3, 0), (first.RequestCount, second.RequestCount));
        Assert.Contains($"cache_origin_replica_failures_total{{origin=\"{first.Url}\"}} 0", await FetchMetricsAsync(service));
    }

    [Fact]
    public async Task UnaskedAnswer_OfTheFirst_IsTriedAgainAtTheSecond()
    {
        await using ScriptedOrigin first = new(exchange =>
            exchange.SendAsync("HTTP/1.1 206 Partial\r\nContent-Range: bytes 0-2/9\r\nContent-Length: 3\r\n\r\nabc"));
        await using ScriptedOrigin second = new(exchange => exchange.AnswerAsync("second"));
        await using TestService service = await StartAsync(first, second);

        Assert.Equal("second", (await service.FetchAsync("/object/a")).Body);
    }

    [Theory]
    [InlineData("POST", "")]
    [InlineData("DELETE", "")]
    [InlineData("GET", "Content-Length: 1\r\n\r\nx")]
    public async Task Failure_OfAPassThatMayNotBeRepeated_Is502(string method, string fields)
    {
        await using ScriptedOrigin first = new(CloseAsync);
        await using ScriptedOrigin second = new(exchange => exchange.AnswerAsync("second"));
        await using TestService service = await StartAsync(first, second);

        Assert.Equal(502, (await service.FetchAsync("/object/a", fields, method)).Head.Status);

        Assert.Equal((1, 0), (first.RequestCount, second.RequestCount));
    }

    [Theory]
    [MemberData(nameof(Failures))]
    public async Task Failures_InARow_EjectForATime(string failure)
    {
        bool isDown = true;
        await using ScriptedOrigin first = new(async exchange =>
        {
            if (isDown)
            {
                await exchange.SendAsync(failure);
                exchange.Close();
                return;
            }

            await exchange.AnswerAsync("first", "Connection: close\r\n");
        });
        await using ScriptedOrigin second = new(exchange => exchange.AnswerAsync("second"));
        await using TestService service = await StartAsync(first, second, "--Cache:OriginEjectAfter=2", "--Cache:OriginEjectTime=30s");
        await AssertAskedAsync(service, first, isAsked: true);
        await AssertAskedAsync(service, first, isAsked: true);
        Assert.Contains($"Origin {first.Url} is not asked for", service.Log.Warnings[^1], StringComparison.Ordinal);

        await AssertAskedAsync(service, first, isAsked: false);
        service.Time.Advance(TimeSpan.FromSeconds(29));
        await AssertAskedAsync(service, first, isAsked: false);
        service.Time.Advance(TimeSpan.FromSeconds(1));

        // Its time is over, its record is not: one failure more, and it is out again.
        await AssertAskedAsync(service, first, isAsked: true);
        await AssertAskedAsync(service, first, isAsked: false);
        service.Time.Advance(TimeSpan.FromSeconds(30));
        isDown = false;
        await AssertAskedAsync(service, first, isAsked: true);
        isDown = true;
        await AssertAskedAsync(service, first, isAsked: true);
        await AssertAskedAsync(service, first, isAsked: true);
        await AssertAskedAsync(service, first, isAsked: false);
    }

    [Fact]
    public async Task Failures_WithAnAnswerBetweenThem_DoNotEject()
    {
        int count = 0;
        await using ScriptedOrigin first = new(exchange =>
            exchange.SendAsync($"HTTP/1.1 {(++count % 2 == 0 ? 404 : 503)} X\r\nContent-Length: 0\r\n\r\n"));
        await using ScriptedOrigin second = new(exchange => exchange.AnswerAsync("second"));
        await using TestService service = await StartAsync(first, second, "--Cache:OriginEjectAfter=2");

        for (int request = 0; request < 6; request++)
        {
            await AssertAskedAsync(service, first, isAsked: true);
        }
    }

    [Fact]
    public async Task Timeouts_Eject()
    {
        await using ScriptedOrigin first = new(exchange => exchange.ClosedByServiceAsync());
        await using ScriptedOrigin second = new(exchange => exchange.AnswerAsync("second"));
        await using TestService service = await StartAsync(
            first, second, "--Cache:OriginEjectAfter=1", "--Cache:OriginHeaderTimeout=5s", "--Cache:OriginEjectTime=1h");
        await using RawClient client = await service.GetAsync("/object/a");
        await Eventually.TrueAsync(() => first.RequestCount == 1 && service.Time.ArmedTimers == 1, "the first address");

        service.Time.Advance(TimeSpan.FromSeconds(5));

        Assert.Equal("second", (await client.ReadAsync()).Body);
        await AssertAskedAsync(service, first, isAsked: false);
    }

    [Fact]
    public async Task Client_ThatLeaves_IsNoFailureOfTheOrigin()
    {
        await using ScriptedOrigin first = new(exchange => exchange.ClosedByServiceAsync());
        await using ScriptedOrigin second = new(exchange => exchange.AnswerAsync("second"));
        await using TestService service = await StartAsync(first, second, "--Cache:OriginEjectAfter=1");
        await using RawClient client = await service.GetAsync("/object/a", method: "POST");
        await Eventually.TrueAsync(() => first.RequestCount == 1, "the first address");

        client.Vanish();
        await service.IsAtRestAsync();

        Assert.Equal(0, second.RequestCount);
        Assert.DoesNotContain(service.Log.Warnings, line => line.Contains("not asked", StringComparison.Ordinal));
    }

    [Fact]
    public async Task Client_WhoseBodyIsTooLarge_IsNoFailureOfTheOrigin()
    {
        await using ScriptedOrigin first = new(exchange => exchange.ClosedByServiceAsync(mayRead: 100));
        await using ScriptedOrigin second = new(exchange => exchange.AnswerAsync("second"));
        await using TestService service = await StartAsync(first, second, "--Cache:OriginEjectAfter=1", "--Cache:MaxRequestBodyBytes=10");
        await using RawClient client = await service.GetAsync("/object/a", "Transfer-Encoding: chunked\r\n", "POST");
        await client.SendRawAsync("3\r\nabc\r\n");
        await Eventually.TrueAsync(() => first.RequestCount == 1, "the first address");
        await client.SendRawAsync("8\r\nabcdefgh\r\n");

        Assert.Equal(413, (await client.ReadHeadAsync()).Status);

        Assert.Contains($"cache_origin_replica_failures_total{{origin=\"{first.Url}\"}} 0", await FetchMetricsAsync(service));
    }

    [Theory]
    [MemberData(nameof(Failures))]
    public async Task Failures_OfOneKey_CountOnce(string failure)
    {
        await using ScriptedOrigin first = new(async exchange =>
        {
            await exchange.SendAsync(failure);
            exchange.Close();
        });
        await using ScriptedOrigin second = new(exchange => exchange.AnswerAsync("second"));
        await using TestService service = await StartAsync(first, second, "--Cache:OriginEjectAfter=2");

        for (int count = 1; count <= 6; count++)
        {
            await service.FetchAsync("/object/a", "Cookie: a=b\r\n");
            Assert.Equal(count, first.RequestCount);
        }
    }

    [Theory]
    [MemberData(nameof(Failures))]
    public async Task All_ThereAndOfNoUse_AreAskedAllTheSame(string failure)
    {
        async Task FailAsync(OriginExchange exchange)
        {
            await exchange.SendAsync(failure);
            exchange.Close();
        }

        await using ScriptedOrigin first = new(FailAsync);
        await using ScriptedOrigin second = new(FailAsync);
        await using TestService service = await StartAsync(first, second, "--Cache:OriginEjectAfter=1", "--Cache:ErrorTtl=0");

        for (int count = 0; count < 6; count++)
        {
            RawResponse head = (await service.FetchAsync($"/object/{count}", method: "POST")).Head;
            Assert.DoesNotContain("circuit", head.CacheStatus, StringComparison.Ordinal);
        }

        Assert.Equal((5, 1), (first.RequestCount, second.RequestCount));
        Assert.Contains($"cache_origin_replica_ejected{{origin=\"{second.Url}\"}} 1", await FetchMetricsAsync(service));
    }

    [Fact]
    public async Task Address_OfNoUse_IsAskedWhenTheOtherCannotBeReached()
    {
        await using ScriptedOrigin first = new(exchange => exchange.SendAsync("HTTP/1.1 503 X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"));
        await using ScriptedOrigin second = new(exchange => exchange.AnswerAsync("second", "Cache-Control: max-age=60\r\nConnection: close\r\n"));
        await using TestService service = await StartAsync(first, second, "--Cache:OriginEjectAfter=1");
        Assert.Equal(503, (await service.FetchAsync("/object/a", method: "POST")).Head.Status);
        Assert.Equal("second", (await service.FetchAsync("/object/b", method: "POST")).Body);
        await service.IsAtRestAsync();
        second.StopListening();
        Assert.Equal(502, (await service.FetchAsync("/object/c", method: "POST")).Head.Status);

        Assert.Equal("CachingService; fwd=method; fwd-status=503", (await service.FetchAsync("/object/d", method: "POST")).Head.CacheStatus);
        Assert.Equal((2, 1), (first.RequestCount, second.RequestCount));
    }

    [Fact]
    public async Task All_Open_NobodyIsAsked()
    {
        await using ScriptedOrigin first = new(exchange => exchange.AnswerAsync("first"), isListening: false);
        await using ScriptedOrigin second = new(exchange => exchange.AnswerAsync("second"), isListening: false);
        await using TestService service = await StartAsync(first, second, "--Cache:OriginEjectAfter=1");
        Assert.Equal(502, (await service.FetchAsync("/object/a")).Head.Status);
        first.Listen();
        second.Listen();

        (RawResponse head, _) = await service.FetchAsync("/object/a", method: "POST");

        Assert.Equal((503, "CachingService; detail=origin-circuit-open"), (head.Status, head.CacheStatus));
        Assert.Equal((0, 0), (first.RequestCount, second.RequestCount));
        Assert.Contains($"cache_origin_replica_ejected{{origin=\"{first.Url}\"}} 1", await FetchMetricsAsync(service));
    }

    [Fact]
    public async Task Metrics_TellFailuresAndEjectionOfEach()
    {
        await using ScriptedOrigin first = new(CloseAsync);
        await using ScriptedOrigin second = new(exchange => exchange.AnswerAsync("second"));
        await using TestService service = await StartAsync(first, second, "--Cache:OriginEjectAfter=2");
        await service.FetchAsync("/object/a");
        await service.FetchAsync("/object/b");

        string[] lines = await FetchMetricsAsync(service);

        Assert.All(
            [
                $"cache_origin_replica_failures_total{{origin=\"{first.Url}\"}} 2",
                $"cache_origin_replica_failures_total{{origin=\"{second.Url}\"}} 0",
                $"cache_origin_replica_ejected{{origin=\"{first.Url}\"}} 1",
                $"cache_origin_replica_ejected{{origin=\"{second.Url}\"}} 0",
            ],
            line => Assert.Contains(line, lines));
    }

    [Fact]
    public async Task Probe_EjectsAndBringsBack()
    {
        int status = 500;
        await using ScriptedOrigin first = new(exchange => exchange.Target == "/base/alive"
            ? exchange.SendAsync($"HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n")
            : exchange.AnswerAsync("first"));
        await using ScriptedOrigin second = new(exchange => exchange.AnswerAsync("second"));
        await using TestService service = await TestService.StartAsync(
            "", $"--Cache:Origins={first.Url}/base;{second.Url}", "--Cache:OriginEjectAfter=1", "--Cache:OriginEjectTime=1h",
            "--Cache:OriginProbePath=/alive", "--Cache:OriginProbeInterval=5s");

        Assert.Equal("first", (await service.FetchAsync("/object/a", "Cookie: a=b\r\n")).Body);
        await ProbeUntilAsync("second");
        status = 204;
        await ProbeUntilAsync("first");

        Assert.True(service.Time.Elapsed < TimeSpan.FromHours(1), "It is the probe that brings it back, not the end of its time.");
        Assert.Contains(second.Exchanges, exchange => exchange.Target == "/alive");

        async Task ProbeUntilAsync(string answerer)
        {
            long start = Stopwatch.GetTimestamp();
            using PeriodicTimer tick = new(TimeSpan.FromMilliseconds(20));
            while ((await service.FetchAsync("/object/a", "Cookie: a=b\r\n")).Body != answerer)
            {
                Assert.True(Stopwatch.GetElapsedTime(start) < Patience.Limit, $"{answerer} never answered");
                // An answer to the last probe may be on its way: time must not run away from it.
                await tick.WaitForNextTickAsync(TestContext.Current.CancellationToken).AsTask()
                    .WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
                service.Time.Advance(TimeSpan.FromSeconds(5));
            }
        }
    }

    [Fact]
    public async Task Location_AtAnotherAddress_NamesTheSameKey()
    {
        string url = "";
        await using ScriptedOrigin first = new(exchange => exchange.AnswerAsync(
            $"{exchange.Number}", "Cache-Control: max-age=60\r\n" + (exchange.Method == "GET" ? "" : $"Location: {url}/b\r\n")));
        await using ScriptedOrigin second = new(exchange => exchange.AnswerAsync("second"));
        url = second.Url;
        await using TestService service = await StartAsync(first, second);
        await service.FetchAsync("/object/b");

        await service.FetchAsync("/object/a", method: "POST");

        Assert.Equal("3", (await service.FetchAsync("/object/b")).Body);
    }

    private static Task<TestService> StartAsync(ScriptedOrigin first, ScriptedOrigin second, params string[] options) =>
        TestService.StartAsync("", [$"--Cache:Origins={first.Url};{second.Url}", .. options]);

    private static Task CloseAsync(OriginExchange exchange)
    {
        exchange.Close();
        return Task.CompletedTask;
    }

    private static async Task AssertAskedAsync(TestService service, ScriptedOrigin origin, bool isAsked)
    {
        int before = origin.RequestCount;
        await service.FetchAsync($"/object/{before}", "Cookie: a=b\r\n");
        Assert.Equal(before + (isAsked ? 1 : 0), origin.RequestCount);
    }

    private static async Task<string[]> FetchMetricsAsync(TestService service)
    {
        await using RawClient client = await RawClient.ConnectAsync(service.Host.AdminUrl!);
        await client.SendRawAsync("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
        return (await client.ReadAsync()).Body.Split('\n');
    }
}
