using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Serving;

/// <summary>Every cap answers 503 with Retry-After, and what runs goes on.</summary>
public sealed class CapTests
{
    [Theory]
    [InlineData("--Cache:MaxFills=1", "/object/b", "", "too-many-fills")]
    [InlineData("--Cache:MaxReadersPerObject=1", "/object/a", "", "too-many-readers")]
    [InlineData("--Cache:MaxPasses=1", "/object/b", "Cookie: a=b\r\n", "too-many-passes")]
    public async Task Cap_Reached_Is503AndTheFirstGoesOn(string option, string secondTarget, string fields, string detail)
    {
        TaskCompletionSource rest = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await rest.Task;
            await exchange.AnswerAsync("hello");
        });
        await using TestService service = await TestService.StartAsync(origin.Url, option);
        await using RawClient first = await service.GetAsync("/object/a", fields);
        await Eventually.TrueAsync(() => origin.RequestCount == 1, "first at the origin");

        (RawResponse head, _) = await service.FetchAsync(secondTarget, fields);

        Assert.Equal(
            (503, "1", "no-store", $"CachingService; detail={detail}"),
            (head.Status, head["Retry-After"], head["Cache-Control"], head.CacheStatus));
        rest.SetResult();
        Assert.Equal("hello", (await first.ReadAsync()).Body);
        Assert.Equal((1, 1L), (origin.RequestCount, service.Host.Metrics.Refusals));
        await service.IsAtRestAsync();
        Assert.Equal(200, (await service.FetchAsync(secondTarget, fields)).Head.Status);
    }
}
