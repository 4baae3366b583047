using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Filling;

/// <summary>How long a body may take: to its first byte, and in all; and whether it is still worth it when nobody reads.</summary>
public sealed class AgeLimitTests
{
    private const string Head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 6\r\n\r\n";

    [Fact]
    public async Task FirstByte_ThatDoesNotCome_CutsAfterATimeOfItsOwn()
    {
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync(Head);
            await exchange.ClosedByServiceAsync();
        });
        await using TestService service = await TestService.StartAsync(
            origin.Url, "--Cache:OriginFirstByteTimeout=5s", "--Cache:OriginIdleTimeout=50s");
        await using RawClient client = await service.GetAsync("/object/a");
        await client.ReadHeadAsync();
        await Eventually.TrueAsync(() => service.Time.DueWithin(TimeSpan.FromSeconds(5)), "the first byte is waited for");

        service.Time.Advance(TimeSpan.FromSeconds(5));

        Assert.Equal("", await client.ReadToCloseAsync());
        Assert.Contains("origin-first-byte-timeout", Assert.Single(service.Log.Warnings), StringComparison.Ordinal);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task FirstByte_Come_TheTimeBetweenBytesCounts()
    {
        TaskCompletionSource rest = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync(Head + "abc");
            await rest.Task;
            await exchange.SendAsync("def");
        });
        await using TestService service = await TestService.StartAsync(
            origin.Url, "--Cache:OriginFirstByteTimeout=5s", "--Cache:OriginIdleTimeout=50s");
        await using RawClient client = await service.GetAsync("/object/a");
        await client.ReadHeadAsync();
        Assert.Equal("abc", await client.ReadExactlyAsync(3));
        await Eventually.TrueAsync(() => service.Time.ArmedTimers == 1, "the rest is waited for");

        service.Time.Advance(TimeSpan.FromSeconds(6));
        rest.SetResult();

        Assert.Equal("def", await client.ReadExactlyAsync(3));
    }

    [Fact]
    public async Task Fill_ThatTricklesOn_IsCutAtItsAge()
    {
        using SemaphoreSlim piece = new(0);
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n\r\n");
            while (true)
            {
                await exchange.SendAsync("x");
                await piece.WaitAsync();
            }
        });
        await using TestService service = await TestService.StartAsync(
            origin.Url, "--Cache:MaxFillAge=25s", "--Cache:OriginIdleTimeout=10s");
        await using RawClient client = await service.GetAsync("/object/a");
        await client.ReadHeadAsync();
        Assert.Equal("x", await client.ReadChunkAsync());
        for (int second = 9; second < 25; second += 9)
        {
            await Eventually.TrueAsync(() => service.Time.ArmedTimers == 1, "more is waited for");
            service.Time.Advance(TimeSpan.FromSeconds(9));
            piece.Release();
            Assert.Equal("x", await client.ReadChunkAsync());
        }

        // 18 s of 25 have gone: what is left is less than the time between bytes.
        await Eventually.TrueAsync(() => service.Time.ArmedTimers == 1, "more is waited for");
        service.Time.Advance(TimeSpan.FromSeconds(7));

        Assert.Equal("", await client.ReadToCloseAsync());

        // So many that the origin runs into the end of its connection.
        piece.Release(1_000_000);
        Assert.Contains("fill-too-old", Assert.Single(service.Log.Warnings), StringComparison.Ordinal);
        await service.IsAtRestAsync();
        Assert.Equal(0, service.Host.Cache.Store.Count);
    }

    [Theory]
    [InlineData("Content-Length: 6\r\n\r\nabc", "def", 2, false)]
    [InlineData("Content-Length: 6\r\n\r\nabc", "def", 3, true)]
    [InlineData("Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", "3\r\ndef\r\n0\r\n\r\n", 996, false)]
    [InlineData("Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", "3\r\ndef\r\n0\r\n\r\n", 997, true)]
    public async Task Fill_ThatAllReadersHaveLeft_GoesOnForTheBytesThatItIsWorth(string start, string end, int most, bool goesOn)
    {
        TaskCompletionSource rest = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n" + start);
            await (goesOn ? rest.Task : exchange.ClosedByServiceAsync());
            await exchange.SendAsync(end);
        });
        await using TestService service = await TestService.StartAsync(
            origin.Url, $"--Cache:BackgroundFillBytes={most}", "--Cache:MaxObjectBytes=1000");
        RawClient only = await service.GetAsync("/object/a");
        await only.ReadHeadAsync();
        await Eventually.TrueAsync(() => service.Host.Metrics.SentBytes >= 3, "the first bytes");
        only.Vanish();
        await Eventually.TrueAsync(() => service.Host.Metrics.ActiveReaders == 0, "nobody reads");
        rest.SetResult();

        await service.IsAtRestAsync();

        Assert.Equal(goesOn ? 1 : 0, service.Host.Cache.Store.Count);
        Assert.Empty(service.Log.Warnings);
    }

    [Fact]
    public async Task Body_ThatTookTooLong_DoesNotTakeThePlaceOfALaterOne()
    {
        TaskCompletionSource go = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            if (exchange.Number > 1)
            {
                await exchange.AnswerAsync("new");
                return;
            }

            await exchange.SendAsync("HTTP/1.1 200 OK\r\nCache-Control: max-age=1, stale-while-revalidate=60\r\nContent-Length: 3\r\n\r\no");
            await go.Task;
            await exchange.SendAsync("ld");
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient first = await service.GetAsync("/object/a");
        RawResponse head = await first.ReadHeadAsync();
        service.Time.Advance(TimeSpan.FromSeconds(2));
        Assert.Equal("new", (await service.FetchAsync("/object/a")).Body);

        go.SetResult();
        Assert.Equal("old", await first.ReadBodyAsync(head));
        await service.IsAtRestAsync();
        Assert.Equal("new", (await service.FetchAsync("/object/a")).Body);
        Assert.Equal((2, 1), (origin.RequestCount, service.Host.Cache.Store.Count));
    }
}
