using System.Text;

namespace IoUringCache.Caching.Tests;

/// <summary>Requests whose fields have characters that headers on the disk have not. Kestrel reads fields as UTF-8.</summary>
public sealed class DiskVariantTests : IDisposable
{
    private const int BodyLength = 10_000;

    /// <summary>Full-width letters, of which Latin-1 would make <see cref="Plain"/>.</summary>
    private const string Wide = "\uff4f\uff4e\uff45";

    private const string Plain = "one";

    private readonly string _directory = Directory.CreateTempSubdirectory("disk-").FullName;

    [Theory]
    [InlineData(ServerKind.IoUring)]
    [InlineData(ServerKind.Sockets)]
    public async Task Variant_OfFullWidthLetters_IsNotServedForPlainOnes(ServerKind server)
    {
        await using CacheApp app = await CacheApp.StartAsync(
            server, Map, $"DiskPath={_directory}", "DiskBytes=4MiB", "DiskSegmentBytes=1MiB", "MaxObjects=1");
        using HttpClient client = new(new SocketsHttpHandler { RequestHeaderEncodingSelector = static (_, _) => Encoding.UTF8 })
        {
            BaseAddress = new(app.Url),
            Timeout = Patience.Limit,
        };
        Assert.Equal(BodyOf(Wide), (await client.FetchAsync("/a", ("X-Kind", Wide))).Body);
        await client.FetchAsync("/other");
        await Eventually.TrueAsync(() => app.Engine.Disk!.WaitingBytes == 0, "what was evicted is written");

        Assert.Equal(BodyOf(Plain), (await client.FetchAsync("/a", ("X-Kind", Plain))).Body);
    }

    public void Dispose() => Directory.Delete(_directory, recursive: true);

    private static string BodyOf(string kind) => kind.PadRight(BodyLength, '.');

    private static void Map(WebApplication app) => app.MapGet("/{name}", static context =>
    {
        context.Response.Headers.Vary = "X-Kind";
        return context.Response.WriteAsync(BodyOf(context.Request.Headers["X-Kind"].ToString()));
    }).WithStreamingCache(TimeSpan.FromHours(1));
}
