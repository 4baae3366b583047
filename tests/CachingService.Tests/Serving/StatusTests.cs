using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Serving;

/// <summary>Category status: answers other than 200 are stored, shared and served like any other.</summary>
public sealed class StatusTests
{
    [Theory]
    [InlineData(203)]
    [InlineData(299)]
    [InlineData(301)]
    [InlineData(302)]
    [InlineData(404)]
    [InlineData(410)]
    [InlineData(451)]
    [InlineData(500)]
    [InlineData(503)]
    [InlineData(599)]
    public async Task Status_WithALifetime_IsAHitUntilItEnds(int status)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.SendAsync(
            $"HTTP/1.1 {status} X\r\nCache-Control: max-age=10\r\nLocation: /there\r\nContent-Length: 1\r\n\r\n{exchange.Number}"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        RawResponse miss = (await service.FetchAsync("/object/a")).Head;
        service.Time.Advance(TimeSpan.FromSeconds(9));
        (RawResponse hit, string old) = await service.FetchAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(1));
        (_, string fresh) = await service.FetchAsync("/object/a");

        Assert.Equal($"CachingService; fwd=uri-miss; fwd-status={status}; stored", miss.CacheStatus);
        Assert.Equal((status, "/object/there", "9", "CachingService; hit; ttl=1"), (hit.Status, hit["Location"], hit["Age"], hit.CacheStatus));
        Assert.Equal(("1", "2"), (old, fresh));
        await service.IsAtRestAsync();
    }

    [Theory]
    [InlineData(204, "", null)]
    [InlineData(204, "Content-Length: 5\r\n", null)]
    [InlineData(205, "Content-Length: 0\r\n", "0")]
    [InlineData(205, "Content-Length: 5\r\n\r\nhello", "0")]
    public async Task Status_WithoutABody_IsAHitWithoutOne(int status, string fieldsAndBody, string? length)
    {
        string end = fieldsAndBody.Contains("\r\n\r\n", StringComparison.Ordinal) ? "" : "\r\n";
        await using ScriptedOrigin origin = new(exchange =>
            exchange.SendAsync($"HTTP/1.1 {status} X\r\nCache-Control: max-age=60\r\n{fieldsAndBody}{end}"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient client = await RawClient.ConnectAsync(service.Url);

        for (int count = 0; count < 3; count++)
        {
            await client.SendAsync("/object/a");
            RawResponse head = await client.ReadHeadAsync();
            Assert.Equal((status, length, null), (head.Status, head["Content-Length"], head["Transfer-Encoding"]));
            Assert.Equal(count > 0, head.CacheStatus == "CachingService; hit; ttl=60");
            await service.IsAtRestAsync();
        }

        Assert.Equal(1, origin.RequestCount);
    }

    [Theory]
    [InlineData(404)]
    [InlineData(451)]
    [InlineData(500)]
    [InlineData(503)]
    public async Task Failure_GoesToAllWhoWaitedAndIsNotKeptWhereThatIsOff(int status)
    {
        TaskCompletionSource joined = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await joined.Task;
            await exchange.SendAsync($"HTTP/1.1 {status} X\r\nRetry-After: 5\r\nContent-Length: 1\r\n\r\n{exchange.Number}");
        });
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:ErrorTtl=0");
        List<RawClient> clients = new();
        for (int count = 0; count < 20; count++)
        {
            clients.Add(await service.GetAsync("/object/a"));
        }

        await service.JoinedAsync(19);
        joined.SetResult();
        foreach (RawClient client in clients)
        {
            (RawResponse head, string body) = await client.ReadAsync();
            Assert.Equal((status, "5", "1"), (head.Status, head["Retry-After"], body));
            await client.DisposeAsync();
        }

        await service.IsAtRestAsync();
        Assert.Equal((1, 0), (origin.RequestCount, service.Host.Cache.Store.Count));
        Assert.Equal("2", (await service.FetchAsync("/object/a")).Body);
    }

    [Theory]
    [InlineData(404, "", 0)]
    [InlineData(404, "--Cache:NegativeTtl=5s", 5)]
    [InlineData(410, "--Cache:NegativeTtl=5s", 5)]
    [InlineData(451, "--Cache:NegativeTtl=5s", 5)]
    [InlineData(403, "--Cache:NegativeTtl=5s", 0)]
    [InlineData(503, "", 1)]
    [InlineData(500, "--Cache:ErrorTtl=3s", 3)]
    public async Task Failure_WithoutALifetime_IsKeptAsLongAsItsOptionSays(int status, string option, int seconds)
    {
        await using ScriptedOrigin origin = new(exchange =>
            exchange.SendAsync($"HTTP/1.1 {status} X\r\nContent-Length: 1\r\n\r\n{exchange.Number}"));
        await using TestService service = await TestService.StartAsync(origin.Url, [.. option.Length > 0 ? [option] : (string[])[]]);
        await service.FetchAsync("/object/a");
        await service.IsAtRestAsync();

        Assert.Equal(seconds > 0 ? 1 : 0, service.Host.Cache.Store.Count);
        if (seconds > 0)
        {
            service.Time.Advance(TimeSpan.FromSeconds(seconds) - TimeSpan.FromTicks(1));
            (RawResponse hit, string old) = await service.FetchAsync("/object/a");
            Assert.Equal((status, "1"), (hit.Status, old));
            service.Time.Advance(TimeSpan.FromTicks(1));
        }

        Assert.Equal("2", (await service.FetchAsync("/object/a")).Body);
    }

    [Fact]
    public async Task Failure_OfUnknownLength_StreamsToAllWhoWaited()
    {
        TaskCompletionSource rest = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync("HTTP/1.1 404 X\r\nTransfer-Encoding: chunked\r\nCache-Control: max-age=60\r\n\r\n3\r\nabc\r\n");
            await rest.Task;
            await exchange.SendAsync("3\r\ndef\r\n0\r\n\r\n");
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient leader = await service.GetAsync("/object/a");
        RawResponse leaderHead = await leader.ReadHeadAsync();
        await using RawClient late = await service.GetAsync("/object/a");
        RawResponse lateHead = await late.ReadHeadAsync();
        rest.SetResult();

        Assert.Equal("abcdef", await leader.ReadBodyAsync(leaderHead));
        Assert.Equal("abcdef", await late.ReadBodyAsync(lateHead));
        (RawResponse hit, string body) = await service.FetchAsync("/object/a");
        Assert.Equal((404, 404, "abcdef", "6"), (lateHead.Status, hit.Status, body, hit["Content-Length"]));
        Assert.Equal(1, origin.RequestCount);
    }
}
