using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Serving;

/// <summary>Bodies that are too large, late, broken or not wanted.</summary>
public sealed class RequestBodyTests
{
    [Fact]
    public async Task Length_OverTheLimit_Is413BeforeTheOriginIsAsked()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:MaxRequestBodyBytes=1000");

        (RawResponse head, _) = await service.FetchAsync("/object/a", "Content-Length: 1001\r\n", "POST");

        Assert.Equal((413, "CachingService; detail=request-body", 0), (head.Status, head.CacheStatus, origin.RequestCount));
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Chunks_ThatGrowOverTheLimit_Are413AndTheOriginIsCut()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.ClosedByServiceAsync(mayRead: 2000));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:MaxRequestBodyBytes=1000");
        await using RawClient client = await service.GetAsync("/object/a", "Transfer-Encoding: chunked\r\n", "POST");

        await client.SendRawAsync($"1F4\r\n{new string('x', 500)}\r\n");
        await Eventually.TrueAsync(() => origin.RequestCount == 1, "the request");
        await client.SendRawAsync($"1F5\r\n{new string('x', 501)}\r\n");

        Assert.Equal(413, (await client.ReadHeadAsync()).Status);
        Assert.Equal(0, service.Host.Metrics.OriginFailures);
        await service.IsAtRestAsync();
        await Eventually.TrueAsync(() => origin.ClosedByService == 1, "the end of the origin's connection");
    }

    /// <summary>The origin has answered before it has all of the body, and the client then breaks a rule: that is no failure of the origin.</summary>
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Chunks_ThatAreWrongWhileTheAnswerComes_CutItAndAreNotTheOriginsFault(bool isTooLarge)
    {
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nearly");
            await exchange.ClosedByServiceAsync(mayRead: 2000);
        });
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:MaxRequestBodyBytes=1000");
        await using RawClient client = await service.GetAsync("/object/a", "Transfer-Encoding: chunked\r\n", "POST");
        await client.SendRawAsync("3\r\nabc\r\n");
        Assert.Equal(200, (await client.ReadHeadAsync()).Status);
        Assert.Equal("early", await client.ReadExactlyAsync(5));

        await client.SendRawAsync(isTooLarge ? $"3E8\r\n{new string('x', 1000)}\r\n" : "x\r\n");

        Assert.Equal("", await client.ReadToCloseAsync());
        await service.IsAtRestAsync();
        Assert.Equal((0L, 0L), (service.Host.Metrics.OriginFailures, service.Host.Metrics.CutReaders));
        Assert.Empty(service.Log.Warnings);
    }

    [Theory]
    [InlineData("x\r\nabc\r\n")]
    [InlineData("-3\r\nabc\r\n")]
    [InlineData("80000000\r\nabc\r\n")]
    [InlineData("FFFFFFFF\r\nabc\r\n")]
    [InlineData("FFFFFFFFFFFFFFFFFFFFFF\r\nabc\r\n")]
    [InlineData("3\r\nabcX\r\n")]
    public async Task Chunk_ThatIsNone_Is400AndTheConnectionEnds(string chunk)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.ClosedByServiceAsync(mayRead: 100));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient client = await service.GetAsync("/object/a", "Transfer-Encoding: chunked\r\n", "POST");
        await client.SendRawAsync("3\r\nabc\r\n");
        await Eventually.TrueAsync(() => origin.RequestCount == 1, "the request");

        await client.SendRawAsync(chunk);

        RawResponse head = await client.ReadHeadAsync();
        Assert.Equal((400, "CachingService; detail=request-body"), (head.Status, head.CacheStatus));
        Assert.Equal("", await client.ReadToCloseAsync());
        await service.IsAtRestAsync();
        await Eventually.TrueAsync(() => origin.ClosedByService == 1, "the end of the origin's connection");
        Assert.Equal(0, service.Host.Metrics.OriginFailures);
    }

    [Fact]
    public async Task Body_AtTheLimit_Passes()
    {
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.ReadBodyAsync(1000);
            await exchange.AnswerAsync("x");
        });
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:MaxRequestBodyBytes=1000");
        await using RawClient client = await service.GetAsync("/object/a", "Content-Length: 1000\r\n", "POST");

        await client.SendRawAsync(new string('x', 1000));

        Assert.Equal(200, (await client.ReadAsync()).Head.Status);
    }

    [Theory]
    [InlineData("")]
    [InlineData("abc")]
    public async Task Client_ThatLeaves_CancelsTheOriginsRequest(string body)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.ClosedByServiceAsync(mayRead: 3));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient client = await service.GetAsync("/object/a", $"Content-Length: {2 * body.Length}\r\n", "POST");
        await client.SendRawAsync(body);
        await Eventually.TrueAsync(() => origin.RequestCount == 1, "the request");

        client.Vanish();

        await Eventually.TrueAsync(() => origin.ClosedByService == 1, "the end of the origin's connection");
        await service.IsAtRestAsync();
        Assert.Equal((1, 0L), (origin.RequestCount, service.Host.Metrics.OriginFailures));
    }

    [Fact]
    public async Task Client_ThatStopsSending_Is408AndTheOriginIsCut()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.ClosedByServiceAsync(mayRead: 3));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient client = await service.GetAsync("/object/a", "Content-Length: 7\r\n", "POST");
        await client.SendRawAsync("abc");
        await Eventually.TrueAsync(() => origin.RequestCount == 1, "the request");

        // The server's own clock: it gives a body 5 s before it asks for a rate.
        Assert.Equal(408, (await client.ReadHeadAsync()).Status);
        await Eventually.TrueAsync(() => origin.ClosedByService == 1, "the end of the origin's connection");
        Assert.Equal(0, service.Host.Metrics.OriginFailures);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Client_ThatPauses_IsNotTheOriginsFault()
    {
        using SemaphoreSlim seen = new(0);
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.ReadBodyAsync(3);
            seen.Release();
            await exchange.ReadBodyAsync(3);
            await exchange.AnswerAsync("x");
        });
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:OriginHeaderTimeout=10s");
        await using RawClient client = await service.GetAsync("/object/a", "Content-Length: 6\r\n", "POST");
        await client.SendRawAsync("abc");
        Assert.True(await seen.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken));
        await Eventually.TrueAsync(() => service.Time.ArmedTimers == 0, "the clock to stand still");

        service.Time.Advance(TimeSpan.FromMinutes(1));
        await client.SendRawAsync("def");

        Assert.Equal(200, (await client.ReadAsync()).Head.Status);
    }

    [Fact]
    public async Task Origin_ThatIsSilentAfterTheBody_Is504()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.ClosedByServiceAsync(mayRead: 3));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:OriginHeaderTimeout=10s");
        await using RawClient client = await service.GetAsync("/object/a", "Content-Length: 3\r\n", "POST");
        await client.SendRawAsync("abc");
        await Eventually.TrueAsync(() => origin.RequestCount == 1 && service.Time.ArmedTimers == 1, "the wait for headers");

        service.Time.Advance(TimeSpan.FromSeconds(10));

        Assert.Equal((504, 1), ((await client.ReadAsync()).Head.Status, origin.RequestCount));
        await service.IsAtRestAsync();
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Origin_ThatAnswersAndClosesBeforeTheEndOfTheBody_IsHeard(bool isChunked)
    {
        TaskCompletionSource closed = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno");
            exchange.Close();
            closed.SetResult();
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient client = await service.GetAsync(
            "/object/a", isChunked ? "Transfer-Encoding: chunked\r\n" : "Content-Length: 20000000\r\n", "POST");
        await client.SendRawAsync(isChunked ? "3\r\nabc\r\n" : "abc");
        await closed.Task.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);

        // The first pieces after the end may still be taken by the kernel; the answer ends the sending.
        Task<RawResponse> answer = client.ReadHeadAsync();
        while (!answer.IsCompleted)
        {
            await client.SendRawAsync(isChunked ? "3\r\nabc\r\n" : "abc");
            await Task.Yield();
        }

        RawResponse head = await answer.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
        Assert.Equal((403, 1, 0L), (head.Status, origin.RequestCount, service.Host.Metrics.OriginFailures));
        client.Vanish();
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Origin_ThatAnswersBeforeTheEndOfTheBodyAndReadsOn_IsHeardAfterIt()
    {
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.AnswerAsync("early");
            await exchange.ReadBodyAsync(6);
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient client = await service.GetAsync("/object/a", "Content-Length: 6\r\n", "POST");
        await client.SendRawAsync("abc");
        await Eventually.TrueAsync(() => origin.RequestCount == 1, "the request");
        await client.SendRawAsync("def");

        Assert.Equal("early", (await client.ReadAsync()).Body);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Origin_ThatResetsDuringTheBody_Is502Once()
    {
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.ReadBodyAsync(3);
            exchange.Reset();
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient client = await service.GetAsync("/object/a", "Content-Length: 9\r\n", "POST");
        await client.SendRawAsync("abc");
        await Eventually.TrueAsync(() => origin.RequestCount == 1, "the request");

        await client.SendRawAsync("def");
        await client.SendRawAsync("ghi");

        Assert.Equal((502, 1), ((await client.ReadAsync()).Head.Status, origin.RequestCount));
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Expect_IsAnsweredByUsAndNotPassedOn()
    {
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.ReadBodyAsync(3);
            await exchange.AnswerAsync("x");
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient client = await service.GetAsync("/object/a", "Content-Length: 3\r\nExpect: 100-continue\r\n", "POST");

        Assert.Equal(100, (await client.ReadHeadAsync()).Status);
        await client.SendRawAsync("abc");

        Assert.Equal("x", (await client.ReadAsync()).Body);
        Assert.Null(Assert.Single(origin.Exchanges).Field("Expect"));
    }
}
