using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Filling;

/// <summary>Which tags an object has, and that it is never stored without one of them.</summary>
public sealed class TagTests
{
    private static readonly string s_tooMany = string.Join(' ', Enumerable.Range(0, 257));

    [Theory]
    [InlineData("GET")]
    [InlineData("HEAD")]
    public async Task Confirmation_WithTooManyTags_RemovesTheObject(string method)
    {
        await using ScriptedOrigin origin = new(exchange => exchange switch
        {
            { Number: 1 } => exchange.AnswerAsync("x", "Cache-Control: max-age=1\r\nETag: \"v\"\r\nSurrogate-Key: one\r\n"),
            { Method: "HEAD" } => exchange.AnswerAsync("x", $"Cache-Control: max-age=60\r\nETag: \"v\"\r\nSurrogate-Key: {s_tooMany}\r\n"),
            _ => exchange.SendAsync($"HTTP/1.1 304 Not Modified\r\nCache-Control: max-age=60\r\nETag: \"v\"\r\nSurrogate-Key: {s_tooMany}\r\n\r\n"),
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.StoreAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(2));
        Assert.Equal(1, service.Host.Cache.Store.Count);

        Assert.Equal(200, (await service.FetchAsync("/object/a", method: method)).Head.Status);

        await service.IsAtRestAsync();
        Assert.Equal((0, 0, 0L), (service.Host.Cache.Store.Count, service.Host.Cache.Store.Tags.Count, service.Host.Cache.Ledger.StoredBytes));
    }
}
