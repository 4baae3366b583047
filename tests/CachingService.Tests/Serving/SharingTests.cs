using System.Diagnostics;
using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Serving;

/// <summary>What is never stored and never shared.</summary>
public sealed class SharingTests
{
    [Theory]
    [InlineData("Cache-Control: no-store, max-age=60", "no-store")]
    [InlineData("Cache-Control: private, max-age=60", "private")]
    [InlineData("Cache-Control: max-age=60, Private=\"x user\"", "private")]
    [InlineData("Cache-Control: must-understand, private, max-age=60", "private")]
    [InlineData("Cache-Control: max-age=60, no-cache", "no-cache")]
    [InlineData("Cache-Control: max-age=60\r\nSet-Cookie: id=1", "set-cookie")]
    [InlineData("Cache-Control: max-age=60\r\nVary: *", "vary")]
    [InlineData("Cache-Control: max-age=60\r\nVary: Accept, *", "vary")]
    [InlineData("Cache-Control: max-age=60\r\nVary: Accept\r\nVary: *", "vary")]
    [InlineData("Cache-Control: max-age=60\r\nVary: Accept Accept-Language", "vary")]
    [InlineData("Cache-Control: max-age=60\r\nVary: \"Accept\"", "vary")]
    [InlineData("Cache-Control: max-age=60\r\nVary: Via", "vary")]
    [InlineData("Cache-Control: private, max-age=60\r\nVary: Accept", "private")]
    [InlineData("Cache-Control: no-store\r\nVary: Accept", "no-store")]
    [InlineData("Cache-Control: s-maxage=0, max-age=60", "must-revalidate")]
    [InlineData("Cache-Control: max-age=0, must-revalidate", "must-revalidate")]
    [InlineData("Cache-Control: proxy-revalidate\r\nExpires: 0", "must-revalidate")]
    [InlineData("Cache-Control: max-age=60\r\nCDN-Cache-Control: private", "private")]
    [InlineData("Cache-Control: private; max-age=60", "private")]
    [InlineData("Cache-Control: private max-age=60", "private")]
    [InlineData("Cache-Control: no-store;", "no-store")]
    [InlineData("Cache-Control: no-store no-cache", "no-store")]
    [InlineData("Cache-Control: no-store\r\nConnection: Cache-Control", "no-store")]
    [InlineData("Cache-Control: max-age=60\r\nConnection: close, CDN-Cache-Control\r\nCDN-Cache-Control: no-store", "no-store")]
    [InlineData("Cache-Control: max-age=60\r\nConnection: set-cookie\r\nSet-Cookie: id=1", "set-cookie")]
    [InlineData("Cache-Control: max-age=60\r\nConnection: Vary\r\nConnection: X\r\nVary: *", "vary")]
    public async Task Response_ForOneClient_IsNeitherStoredNorShared(string fields, string detail) =>
        await AssertAloneAsync(number => $"HTTP/1.1 200 OK\r\n{fields}\r\nContent-Length: 1\r\n\r\n{number}", 200, detail);

    [Theory]
    [InlineData("Cache-Control: private; max-age=60")]
    [InlineData("Cache-Control: no-store;")]
    [InlineData("Cache-Control: max-age=60\r\nAge: 60\r\nConnection: Age")]
    [InlineData("Cache-Control: max-age=60\r\nDate: Mon, 31 Dec 2029 23:59:00 GMT\r\nConnection: Date")]
    [InlineData("Expires: 0\r\nConnection: Expires")]
    public async Task Response_ThatForbidsInABrokenForm_IsNotStoredByADefaultLifetimeEither(string fields)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync($"{exchange.Number}", fields + "\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:DefaultTtl=60s");

        await service.StoreAsync("/object/a");

        Assert.Equal(("2", 0), ((await service.FetchAsync("/object/a")).Body, service.Host.Cache.Store.Count));
    }

    [Theory]
    [InlineData(404, "Cache-Control: no-store", "no-store")]
    [InlineData(503, "Cache-Control: no-cache", "no-cache")]
    [InlineData(500, "Set-Cookie: id=1", "set-cookie")]
    [InlineData(299, "Cache-Control: must-understand, max-age=60", "must-understand")]
    public async Task Response_OfAnotherStatusForOneClient_IsNeitherStoredNorShared(int status, string fields, string detail) =>
        await AssertAloneAsync(number => $"HTTP/1.1 {status} X\r\n{fields}\r\nContent-Length: 1\r\n\r\n{number}", status, detail);

    [Fact]
    public async Task Response_204_PassesWithoutBody()
    {
        await using ScriptedOrigin origin = new(exchange =>
            exchange.SendAsync("HTTP/1.1 204 No Content\r\nCache-Control: max-age=0\r\n\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient client = await RawClient.ConnectAsync(service.Url);

        for (int count = 1; count <= 2; count++)
        {
            await client.SendAsync("/object/a");
            Assert.Equal(204, (await client.ReadHeadAsync()).Status);
            Assert.Equal(count, origin.RequestCount);
        }

        await service.IsAtRestAsync();
    }

    [Theory]
    [InlineData("", "Content-Length: 5\r\n\r\nhello")]
    [InlineData("Cookie: a=b\r\n", "Content-Length: 5\r\n\r\nhello")]
    [InlineData("", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")]
    public async Task Response_205WithABody_PassesWithoutIt(string fields, string fieldsAndBody)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.SendAsync("HTTP/1.1 205 Reset Content\r\n" + fieldsAndBody));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient client = await RawClient.ConnectAsync(service.Url);
        for (int count = 0; count < 2; count++)
        {
            await client.SendAsync("/object/a", fields);
            (RawResponse head, string body) = await client.ReadAsync();
            Assert.Equal((205, "0", ""), (head.Status, head["Content-Length"], body));
        }

        await service.IsAtRestAsync();
    }

    [Theory]
    [InlineData("Cookie: id=1\r\n", "Cookie", "id=1", "cookie")]
    public async Task Request_ForOneClient_PassesAloneWithItsField(string fields, string name, string value, string detail)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync($"{exchange.Number}"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        Assert.Equal("1", (await service.FetchAsync("/object/a", fields)).Body);
        (RawResponse head, string second) = await service.FetchAsync("/object/a", fields);
        Assert.Equal("2", second);
        Assert.Equal($"CachingService; fwd=bypass; fwd-status=200; detail={detail}", head.CacheStatus);
        Assert.Equal(value, origin.Exchanges[0].Field(name));
        Assert.Equal("3", (await service.FetchAsync("/object/a")).Body);
        Assert.Equal("4", (await service.FetchAsync("/object/a", fields)).Body);
        Assert.Null(origin.Exchanges[2].Field(name));
        await service.IsAtRestAsync();
    }

    [Theory]
    [InlineData("Content-Length: 3\r\n\r\nabc")]
    [InlineData("Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n")]
    public async Task Request_WithABody_PassesAloneWithIt(string fieldsAndBody)
    {
        List<string> bodies = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            bodies.Add(exchange.Field("Content-Length") is { } length
                ? await exchange.ReadBodyAsync(int.Parse(length, System.Globalization.CultureInfo.InvariantCulture))
                : await exchange.ReadBodyAsync("3\r\nabc\r\n0\r\n\r\n".Length));
            await exchange.AnswerAsync($"{exchange.Number}");
        });
        await using TestService service = await TestService.StartAsync(origin.Url);

        for (int count = 1; count <= 2; count++)
        {
            await using RawClient client = await RawClient.ConnectAsync(service.Url);
            string end = fieldsAndBody.StartsWith('T') ? "\r\n" : "";
            await client.SendRawAsync($"GET /object/a HTTP/1.1\r\nHost: x\r\nContent-Type: text/x\r\n{fieldsAndBody}{end}");
            Assert.Equal($"{count}", (await client.ReadAsync()).Body);
        }

        Assert.All(bodies, body => Assert.Contains("abc", body, StringComparison.Ordinal));
        Assert.Equal("text/x", origin.Exchanges[0].Field("Content-Type"));
        Assert.Equal(0, service.Host.Cache.Store.Count);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Request_WhoseClientLeavesInItsBody_IsNoFailureOfTheOrigin()
    {
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.ReadBodyAsync("abc\r\n".Length);
            await exchange.ClosedByServiceAsync();
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        for (int count = 1; count <= 20; count++)
        {
            await using RawClient client = await service.GetAsync("/object/a", "Content-Length: 1000\r\n\r\nabc");
            await Eventually.TrueAsync(() => origin.RequestCount == count, "the request");
            client.Vanish();
            await service.IsAtRestAsync();
        }

        Assert.Empty(service.Log.Warnings);
        Assert.Equal(0, service.Host.Metrics.OriginFailures);
    }

    [Fact]
    public async Task Request_WithNoStore_StartsNoFillButMayHit()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync($"{exchange.Number}"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        Assert.Equal("1", (await service.FetchAsync("/object/a", "Cache-Control: no-store\r\n")).Body);
        Assert.Equal(0, service.Host.Cache.Store.Count);
        Assert.Equal("2", (await service.FetchAsync("/object/a")).Body);
        Assert.Equal("2", (await service.FetchAsync("/object/a", "Cache-Control: no-store\r\n")).Body);
    }

    [Fact]
    public async Task UncacheableBody_OfALeaderWhoStops_HoldsTheOriginBack()
    {
        // 64 MiB for a client that reads nothing: the origin's send must get stuck long before the end.
        long sent = 0L;
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync("HTTP/1.1 200 OK\r\nCache-Control: private\r\nContent-Length: 67108864\r\n\r\n");
            byte[] piece = new byte[65536];
            for (; sent < 67108864; sent += piece.Length)
            {
                await exchange.SendAsync(piece);
            }
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient client = await RawClient.ConnectAsync(service.Url, receiveBuffer: 65536);
        await client.SendAsync("/object/a");
        await client.ReadHeadAsync();

        long received = await ReadUntilStalledAsync(() => service.Host.Cache.Ledger.InFlightBytes + Volatile.Read(ref sent));

        Assert.InRange(received, 1, 40_000_000);
        client.Vanish();
        await service.IsAtRestAsync();
    }

    /// <summary>Waits until so many responses wait for their clients, which take no more.</summary>
    internal static Task WaitForClientsAsync(TestService service, int waiting) =>
        ReadUntilStalledAsync(() => service.Host.Cache.ReaderRates.WaitingCount == waiting ? service.Host.Metrics.SentBytes : 0);

    /// <summary>Waits until a figure is positive, and has stood still for 60 looks in a row that other work could run between.</summary>
    internal static async Task<long> ReadUntilStalledAsync(Func<long> read)
    {
        (long last, int still) = (-1L, 0);
        using PeriodicTimer tick = new(TimeSpan.FromMilliseconds(5));
        long start = Stopwatch.GetTimestamp();
        while (still < 60)
        {
            Assert.True(Stopwatch.GetElapsedTime(start) < 2 * Patience.Limit, $"never stood still: {last}");
            await tick.WaitForNextTickAsync(TestContext.Current.CancellationToken).AsTask().WaitAsync(Patience.Limit);
            long now = read();
            (last, still) = now == last && now > 0 ? (now, still + 1) : (now, 0);
        }

        return last;
    }

    /// <summary>Two wait for the headers, one comes later: three requests at the origin, three answers, nothing stored.</summary>
    private static async Task AssertAloneAsync(Func<int, string> answer, int status, string detail)
    {
        TaskCompletionSource joined = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await joined.Task;
            await exchange.SendAsync(answer(exchange.Number));
        });
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:DefaultTtl=60s");
        await using RawClient leader = await service.GetAsync("/object/a");
        await Eventually.TrueAsync(() => origin.RequestCount == 1, "leader's request");
        await using RawClient waiter = await service.GetAsync("/object/a");
        await service.JoinedAsync(1);
        joined.SetResult();

        (RawResponse leaderHead, string leaderBody) = await leader.ReadAsync();
        (RawResponse waiterHead, string waiterBody) = await waiter.ReadAsync();
        (RawResponse lateHead, string lateBody) = await service.FetchAsync("/object/a");

        Assert.Equal(("1", "2", "3"), (leaderBody, waiterBody, lateBody));
        Assert.All([leaderHead, waiterHead, lateHead], head => Assert.Equal(status, head.Status));
        Assert.Equal($"CachingService; fwd=uri-miss; fwd-status={status}; detail={detail}", leaderHead.CacheStatus);
        Assert.Equal($"CachingService; fwd=bypass; fwd-status={status}; detail={detail}", waiterHead.CacheStatus);
        Assert.Null(waiterHead["Age"]);
        Assert.Equal(0, service.Host.Cache.Store.Count);
        await service.IsAtRestAsync();
    }
}
