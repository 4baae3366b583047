using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Storage;

/// <summary>How long a response is used, and by whom while it arrives.</summary>
public sealed class FreshnessTests
{
    [Theory]
    [InlineData("Cache-Control: max-age=10", "0s", 10)]
    [InlineData("Cache-Control: max-age=10, s-maxage=20", "0s", 20)]
    [InlineData("Cache-Control: max-age=\"10\"", "0s", 10)]
    [InlineData("Cache-Control: MAX-AGE=30\r\nCache-Control: max-age=10", "0s", 10)]
    [InlineData("Cache-Control: public", "15s", 15)]
    [InlineData("X-None: 1", "15s", 15)]
    [InlineData("Cache-Control: max-age=10", "99s", 10)]
    [InlineData("Date: Mon, 01 Jan 2024 00:00:00 GMT\r\nExpires: Mon, 01 Jan 2024 00:00:12 GMT", "99s", 12)]
    [InlineData("Cache-Control: max-age=30\r\nAge: 20", "0s", 10)]
    public async Task Object_UntilItsLifetimeEnds_IsAHit(string fields, string defaultTtl, int seconds)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync($"{exchange.Number}", fields + "\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url, $"--Cache:DefaultTtl={defaultTtl}");
        RawResponse first = (await service.FetchAsync("/object/a")).Head;

        service.Time.Advance(TimeSpan.FromSeconds(seconds) - TimeSpan.FromTicks(1));
        (RawResponse hit, string old) = await service.FetchAsync("/object/a");
        service.Time.Advance(TimeSpan.FromTicks(1));
        (_, string fresh) = await service.FetchAsync("/object/a");

        Assert.Equal(("1", "2"), (old, fresh));
        Assert.Equal("CachingService; hit; ttl=0", hit.CacheStatus);
        int originAge = first["Age"] is { } age ? int.Parse(age, System.Globalization.CultureInfo.InvariantCulture) : 0;
        Assert.Equal($"{originAge + seconds - 1}", hit["Age"]);
    }

    [Theory]
    [InlineData("X-None: 1", "0s")]
    [InlineData("Cache-Control: max-age=0", "99s")]
    [InlineData("Cache-Control: max-age=x", "99s")]
    [InlineData("Cache-Control: max-age=-5", "99s")]
    [InlineData("Expires: 0", "99s")]
    [InlineData("Cache-Control: max-age=10\r\nAge: 10", "99s")]
    [InlineData("Cache-Control: max-age=10\r\nAge: 99999999999999999999", "99s")]
    public async Task Object_WithoutLifetime_IsNotUsedAgain(string fields, string defaultTtl)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync($"{exchange.Number}", fields + "\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url, $"--Cache:DefaultTtl={defaultTtl}");

        Assert.Equal("1", (await service.FetchAsync("/object/a")).Body);
        await service.IsAtRestAsync();
        Assert.Equal("2", (await service.FetchAsync("/object/a")).Body);
    }

    [Theory]
    [InlineData("X-None: 1", 0, true)]
    [InlineData("Cache-Control: max-age=0", 0, false)]
    [InlineData("Cache-Control: max-age=5", 4, true)]
    [InlineData("Cache-Control: max-age=5", 5, false)]
    public async Task FillInFlight_IsJoinedOnlyWhileItsResponseIsFresh(string fields, int seconds, bool isJoined)
    {
        TaskCompletionSource rest = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync($"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n{fields}\r\n\r\nabc");
            await rest.Task;
            await exchange.SendAsync("def");
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient leader = await service.GetAsync("/object/a");
        RawResponse leaderHead = await leader.ReadHeadAsync();
        service.Time.Advance(TimeSpan.FromSeconds(seconds));

        await using RawClient late = await service.GetAsync("/object/a");
        RawResponse lateHead = await late.ReadHeadAsync();
        rest.SetResult();

        Assert.Equal("abcdef", await leader.ReadBodyAsync(leaderHead));
        Assert.Equal("abcdef", await late.ReadBodyAsync(lateHead));
        Assert.Equal(isJoined ? 1 : 2, origin.RequestCount);
        await service.IsAtRestAsync();
    }
}
