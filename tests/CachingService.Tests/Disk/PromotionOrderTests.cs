using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Disk;

/// <summary>What the disk has is as old as it was when its origin sent it, whenever it is read.</summary>
public sealed class PromotionOrderTests : IDisposable
{
    private const int BodyBytes = 10_000;
    private const string Shared = "Cache-Control: public, max-age=60\r\n";

    private static readonly string s_old = new('o', BodyBytes);
    private static readonly string s_new = new('n', BodyBytes);

    private readonly string _directory = Directory.CreateTempSubdirectory("disk-").FullName;

    [Fact]
    public async Task PromotedWhileTheOriginSendsALaterVersion_DoesNotKeepThatOut()
    {
        TaskCompletionSource mayEnd = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using ScriptedOrigin origin = new(exchange => AnswerAsync(exchange, mayEnd.Task));
        await using TestService service = await TestService.StartAsync(
            origin.Url, $"--Cache:DiskPath={_directory}", "--Cache:DiskBytes=4MiB", "--Cache:DiskSegmentBytes=1MiB", "--Cache:MaxObjects=1");
        await service.StoreAsync("/object/a");
        await service.StoreAsync("/object/other");
        await Eventually.TrueAsync(() => service.Host.Cache.Disk!.Metrics.Demotions == 1, "it is on the disk");

        // The answer to a request with credentials is for all, and nobody joins its fetch.
        service.Time.Advance(TimeSpan.FromSeconds(1));
        await using RawClient client = await service.GetAsync("/object/a", "Authorization: x\r\n");
        RawResponse head = await client.ReadHeadAsync();
        service.Time.Advance(TimeSpan.FromSeconds(1));
        (RawResponse promoted, string old) = await service.FetchAsync("/object/a");
        Assert.Equal(("CachingService; hit; ttl=58; detail=disk", s_old), (promoted.CacheStatus, old));
        mayEnd.SetResult();
        Assert.Equal(s_new, await client.ReadBodyAsync(head));
        await service.IsAtRestAsync();

        Assert.Equal(s_new, (await service.FetchAsync("/object/a")).Body);
    }

    public void Dispose() => Directory.Delete(_directory, recursive: true);

    private static async Task AnswerAsync(OriginExchange exchange, Task mayEnd)
    {
        if (exchange.Field("Authorization") is null)
        {
            await exchange.AnswerAsync(s_old, Shared);
            return;
        }

        await exchange.SendAsync($"HTTP/1.1 200 OK\r\nContent-Length: {BodyBytes}\r\n{Shared}\r\n{s_new[1..]}");
        await mayEnd.WaitAsync(Patience.Limit);
        await exchange.SendAsync(s_new[..1]);
    }
}
