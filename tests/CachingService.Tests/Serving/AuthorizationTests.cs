using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Serving;

/// <summary>Category authorization: RFC 9111 3.5, and what is left of it where answers to such requests are never stored.</summary>
public sealed class AuthorizationTests
{
    [Theory]
    [InlineData("max-age=60")]
    [InlineData("max-age=60, public")]
    [InlineData("max-age=60, must-revalidate")]
    [InlineData("s-maxage=60")]
    public async Task Answer_ToARequestWithAuthorization_IsNotStored(string control)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync($"{exchange.Number}", $"Cache-Control: {control}\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        (RawResponse head, string first) = await service.FetchAsync("/object/a", "Authorization: Basic eDp5\r\n");
        Assert.Equal("1", first);
        Assert.Equal("CachingService; fwd=bypass; fwd-status=200; detail=authorization", head.CacheStatus);
        Assert.Equal("Basic eDp5", origin.Exchanges[0].Field("Authorization"));
        Assert.Equal("2", (await service.FetchAsync("/object/a", "Authorization: Basic eDp5\r\n")).Body);
        Assert.Equal("3", (await service.FetchAsync("/object/a")).Body);
        await service.IsAtRestAsync();
    }

    [Theory]
    [InlineData("GET")]
    [InlineData("HEAD")]
    public async Task Request_WithAuthorization_MayHaveWhatAnotherRequestHadStored(string method)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync($"{exchange.Number}"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.FetchAsync("/object/a");

        (RawResponse head, string body) = await service.FetchAsync("/object/a", "Authorization: x\r\n", method);

        Assert.Equal(("CachingService; hit; ttl=60", method == "GET" ? "1" : ""), (head.CacheStatus, body));
        Assert.Equal(1, origin.RequestCount);
        service.Time.Advance(TimeSpan.FromSeconds(60));
        Assert.Equal(
            "CachingService; fwd=bypass; fwd-status=200; detail=authorization",
            (await service.FetchAsync("/object/a", "Authorization: x\r\n", method)).Head.CacheStatus);
    }

    [Theory]
    [InlineData("GET")]
    [InlineData("HEAD")]
    public async Task Request_WithAuthorization_DoesNotJoinAFillInFlight(string method)
    {
        TaskCompletionSource fill = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            if (exchange.Field("Authorization") is null)
            {
                await fill.Task;
            }

            await exchange.AnswerAsync($"{exchange.Number}");
        });
        await using TestService service = await TestService.StartAsync(origin.Url);

        await using RawClient leader = await service.GetAsync("/object/a");
        await Eventually.TrueAsync(() => origin.RequestCount == 1, "fill at the origin");
        (RawResponse head, _) = await service.FetchAsync("/object/a", "Authorization: x\r\n", method);
        fill.SetResult();

        Assert.Equal("CachingService; fwd=bypass; fwd-status=200; detail=authorization", head.CacheStatus);
        Assert.Equal(method, origin.Exchanges[1].Method);
        Assert.Equal("1", (await leader.ReadAsync()).Body);
    }
}
