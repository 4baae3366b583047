using CachingService.Tests.Disk;
using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Telemetry;

/// <summary><c>cache_purges_total</c> and <c>cache_purges_objects_total</c>.</summary>
public sealed class PurgeCountTests
{
    [Fact]
    public async Task Purges_AreCountedByKindWithWhatTheyHit()
    {
        using TokenFile token = new();
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x", "Cache-Control: max-age=60\r\nSurrogate-Key: one\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:PurgeFrom=127.0.0.1", token.Option);
        Assert.Equal("all=0,key=0,prefix=0,tag=0", Purges(service));
        foreach (string name in (string[])["d/a", "d/b", "c"])
        {
            await service.StoreAsync($"/object/{name}");
        }

        await PurgeAsync("/object/d/a", "");
        await PurgeAsync("/object/nowhere", "");
        await PurgeAsync("/object/*", "Soft-Purge: 1\r\n");
        await PurgeAsync("/object/", "Surrogate-Key: one\r\n");
        await PurgeAsync("/object/", "Surrogate-Key: none\r\n");
        await PurgeAsync("/object/e/*", "");

        Assert.Equal("all=1,key=2,prefix=1,tag=2", Purges(service));
        Assert.Equal("all=2,key=1,prefix=0,tag=2", Objects(service, "memory"));
        Assert.Equal("all=0,key=0,prefix=0,tag=0", Objects(service, "disk"));
        string stats = (await service.AskAdminAsync("GET", "/stats")).Body;
        Assert.Contains("\"cache_purges_total\": 6", stats, StringComparison.Ordinal);
        Assert.Contains("\"cache_purges_objects_total\": 5", stats, StringComparison.Ordinal);

        async Task PurgeAsync(string target, string fields) => await service.FetchAsync(target, fields, "PURGE");
    }

    /// <summary>What a client changes is no purge of an operator.</summary>
    [Fact]
    public async Task Invalidation_IsNone()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x", "Cache-Control: max-age=60\r\nCache-Group-Invalidation: \"one\"\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.StoreAsync("/object/a");

        await service.FetchAsync("/object/a", "Content-Length: 0\r\n", "POST");

        Assert.Equal((0, "all=0,key=0,prefix=0,tag=0"), (service.Host.Cache.Store.Count, Purges(service)));
    }

    [Fact]
    public async Task Objects_OnTheDisk_AreCountedToo()
    {
        await using DiskScene scene = await DiskScene.StartAsync("--Cache:PurgeFrom=127.0.0.1");
        await scene.DemoteAsync("tagged");

        await scene.Service.FetchAsync("/object/", "Surrogate-Key: red\r\n", "PURGE");

        Assert.Equal("all=0,key=0,prefix=0,tag=1", Objects(scene.Service, "disk"));
    }

    private static string Purges(TestService service) => Figures(service, "cache_purges_total{", "");

    private static string Objects(TestService service, string tier) => Figures(service, "cache_purges_objects_total{", $"tier=\"{tier}\"");

    private static string Figures(TestService service, string start, string label) => string.Join(',', service.Host.Cache.Collector.Read()
        .Where(figure => figure.Name.StartsWith(start, StringComparison.Ordinal) && figure.Name.Contains(label, StringComparison.Ordinal))
        .Select(static figure => $"{figure.Name.Split('"')[1]}={figure.Value}"));
}
