using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Filling;

namespace CachingService.Tests.Serving;

/// <summary>Soft purges that concern all slices of a body at once: what the origin says of the first is said of all.</summary>
public sealed class SlicePurgeTests
{
    private const string On = "--Cache:SliceBytes=64KiB";

    private readonly VersionedFile _file = new();

    [Theory]
    [InlineData("key")]
    [InlineData("tag")]
    [InlineData("prefix")]
    [InlineData("all")]
    public async Task SoftPurge_IsOverForAllSlices_WithTheConfirmationOfTheFirst(string way)
    {
        await using ScriptedOrigin origin = new(exchange => _file.AnswerAsync(exchange, $"{VersionedFile.Fields}Surrogate-Key: one\r\nETag: \"a\"\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url, On);
        await service.FetchAsync("/object/d/a");
        await service.IsAtRestAsync();
        service.Host.Cache.Purger.Purge(PurgeBy(way));

        (RawResponse head, string body) = await service.FetchAsync("/object/d/a");

        Assert.Equal(("CachingService; fwd=stale; fwd-status=304", true), (head.CacheStatus, body == _file.Body));
        Assert.Equal("CachingService; hit; ttl=60", (await service.FetchAsync("/object/d/a", "Range: bytes=200000-200009\r\n")).Head.CacheStatus);
        Assert.Equal(6, origin.RequestCount);
        await service.IsAtRestAsync();
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Slices_ThatMayHaveBeenPurged_AreAskedForAnew(bool isOnDisk)
    {
        string directory = Directory.CreateTempSubdirectory("slices-").FullName;
        string[] options = [On, $"--Cache:DiskPath={directory}", "--Cache:DiskBytes=4MiB", "--Cache:DiskSegmentBytes=1MiB"];
        await using ScriptedOrigin origin = new(_file.AnswerAsync);
        TestService service = await TestService.StartAsync(origin.Url, options);
        await service.FetchAsync("/object/a");
        if (isOnDisk)
        {
            await service.DisposeAsync();
            service = await TestService.StartAsync(origin.Url, options);
        }

        await using (service)
        {
            service.Host.Cache.Purges.CountOne();
            service.Host.Cache.Purges.DoubtfulBefore = service.Host.Cache.Purges.Current;

            (RawResponse head, string body) = await service.FetchAsync("/object/a");
            (RawResponse hit, string stored) = await service.FetchAsync("/object/a");

            Assert.Equal((200, 200), (head.Status, hit.Status));
            Assert.True(body == _file.Body && stored == _file.Body);
            Assert.Equal(10, origin.RequestCount);
            await service.IsAtRestAsync();
        }

        Directory.Delete(directory, recursive: true);
    }

    private static Purge PurgeBy(string way) => way switch
    {
        "key" => Purge.OfKey("d/a", isSoft: true),
        "tag" => Purge.OfTag("one", isSoft: true),
        "prefix" => Purge.OfPrefix("d/", isSoft: true),
        _ => Purge.OfAll(isSoft: true),
    };
}
