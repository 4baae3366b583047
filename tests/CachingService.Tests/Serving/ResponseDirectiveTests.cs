using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Serving;

/// <summary>Categories response directives and CDN-Cache-Control: what of a head is stored, and what goes on to clients.</summary>
public sealed class ResponseDirectiveTests
{
    [Theory]
    [InlineData("Cache-Control: max-age=60, private=\"X-User, x-group\"")]
    [InlineData("Cache-Control: max-age=60, no-cache=\"X-User, x-group\"")]
    [InlineData("Cache-Control: max-age=60, no-cache=\"X-User\"\r\nCache-Control: private=x-group")]
    [InlineData("CDN-Cache-Control: max-age=60, no-cache=\"X-User, x-group\"")]
    public async Task FieldsForOneClient_ReachTheLeaderAndNobodyElse(string fields)
    {
        TaskCompletionSource joined = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await joined.Task;
            await exchange.AnswerAsync("x", $"{fields}\r\nX-User: me\r\nX-Group: ours\r\nX-All: all\r\n");
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient leader = await service.GetAsync("/object/a");
        await Eventually.TrueAsync(() => origin.RequestCount == 1, "leader's request");
        await using RawClient waiter = await service.GetAsync("/object/a");
        await service.JoinedAsync(1);
        joined.SetResult();

        RawResponse first = (await leader.ReadAsync()).Head;
        RawResponse other = (await waiter.ReadAsync()).Head;
        RawResponse hit = (await service.FetchAsync("/object/a")).Head;

        Assert.Equal(("me", "ours", "all"), (first["X-User"], first["X-Group"], first["X-All"]));
        Assert.All([other, hit], head => Assert.Equal((null, null, "all"), (head["X-User"], head["X-Group"], head["X-All"])));
        Assert.Equal("CachingService; hit; ttl=60", hit.CacheStatus);
        Assert.Equal(1, origin.RequestCount);
    }

    [Fact]
    public async Task SetCookie_ThatIsNamedAsPrivate_DoesNotKeepTheRestFromBeingStored()
    {
        await using ScriptedOrigin origin = new(exchange =>
            exchange.AnswerAsync("x", "Cache-Control: max-age=60, private=\"set-cookie\"\r\nSet-Cookie: id=1\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        Assert.Equal("id=1", (await service.FetchAsync("/object/a")).Head["Set-Cookie"]);
        RawResponse hit = (await service.FetchAsync("/object/a")).Head;
        Assert.Equal(("CachingService; hit; ttl=60", null), (hit.CacheStatus, hit["Set-Cookie"]));
    }

    [Theory]
    [InlineData("max-age=10, no-store=?0;x=1", "CachingService; hit; ttl=10")]
    [InlineData("nonsense,", "CachingService; hit; ttl=60")]
    public async Task TargetedField_GoesToClientsUnchanged(string targeted, string cacheStatus)
    {
        await using ScriptedOrigin origin = new(exchange =>
            exchange.AnswerAsync("x", $"Cache-Control: max-age=60\r\nCDN-Cache-Control: {targeted}\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        RawResponse miss = (await service.FetchAsync("/object/a")).Head;
        RawResponse hit = (await service.FetchAsync("/object/a")).Head;

        Assert.All([miss, hit], head =>
            Assert.Equal((targeted, "max-age=60"), (head["CDN-Cache-Control"], head["Cache-Control"])));
        Assert.Equal(cacheStatus, hit.CacheStatus);
    }

    [Theory]
    [InlineData("soon")]
    [InlineData("0")]
    [InlineData("Tue, 01 Jan 2030 00:00:00 GMT\r\nDate: Tue, 01 Jan 2030 00:00:00 GMT")]
    public async Task Date_ThatIsNone_IsReplacedByTheTimeOfReceipt(string date)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x", $"Cache-Control: max-age=60\r\nDate: {date}\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        service.Time.Advance(TimeSpan.FromSeconds(7));

        Assert.Equal("Tue, 01 Jan 2030 00:00:07 GMT", (await service.FetchAsync("/object/a")).Head["Date"]);
        Assert.Equal("Tue, 01 Jan 2030 00:00:07 GMT", (await service.FetchAsync("/object/a")).Head["Date"]);
    }
}
