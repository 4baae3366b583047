using System.Globalization;
using System.Text;
using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Disk;

/// <summary>
/// An origin whose bodies follow from the target, and a service with room for one object in memory and for some segments on a disk, which can
/// be started again.
/// </summary>
internal sealed class DiskScene : IAsyncDisposable
{
    public const int SegmentBytes = 1 << 20;

    private DiskScene(string[] options) => Options = options;

    /// <summary>Of the service, from its next start on.</summary>
    public string[] Options { get; set; }

    public ScriptedOrigin Origin { get; private set; } = null!;

    public TestService Service { get; private set; } = null!;

    /// <summary>How the origin answers whether an object with a validator, of whose name that is a part, is still good.</summary>
    public Func<OriginExchange, Task> OnValidation { get; set; } = static exchange => exchange.SendAsync("HTTP/1.1 304 Not Modified\r\n\r\n");

    public string Directory { get; } = System.IO.Directory.CreateTempSubdirectory("disk-").FullName;

    public string FirstSegment => Path.Combine(Directory, "segment-00000");

    public static async Task<DiskScene> StartAsync(params string[] options)
    {
        DiskScene scene = new(options);
        scene.Origin = new(scene.AnswerAsync);
        await scene.StartServiceAsync();
        return scene;
    }

    /// <summary>What the origin sends for <c>/NAME?bytes=N</c>, 200,000 bytes if it does not say.</summary>
    public static string BodyOf(string target)
    {
        int length = target.Split("bytes=") is [_, var bytes] ? int.Parse(bytes, CultureInfo.InvariantCulture) : 200_000;
        byte[] body = new byte[length];
        new Random(target.Aggregate(17, (hash, letter) => unchecked((hash * 31) + letter))).NextBytes(body);
        return Encoding.Latin1.GetString(body);
    }

    /// <summary>Asks, and checks every byte of the answer.</summary>
    /// <returns>Its Cache-Status.</returns>
    public async Task<string> GetAsync(string name, string fields = "")
    {
        (RawResponse head, string body) = await Service.FetchAsync($"/object/{name}", fields);
        Assert.Equal(200, head.Status);
        Assert.True(body == BodyOf($"/{name}"), $"the body of {name} is wrong");
        return head.CacheStatus;
    }

    /// <summary>Has an object on the disk and another one in memory, and nothing on its way.</summary>
    public async Task DemoteAsync(string name, string by = "other")
    {
        await GetAsync(name);
        await WrittenAsync();
        long before = Service.Host.Cache.Disk!.Metrics.Demotions;
        await GetAsync(by);
        await WrittenAsync();
        Assert.True(Service.Host.Cache.Disk.Metrics.Demotions > before, $"{name} was not written");
    }

    /// <summary>What has been evicted is on the disk. It is counted as waiting before the answer of who evicts it has ended.</summary>
    private Task WrittenAsync() => Eventually.TrueAsync(() => Service.Host.Cache.Disk!.WaitingBytes == 0, "what was evicted is written");

    public async Task StartServiceAsync() => Service = await TestService.StartAsync(
        Origin.Url,
        [
            $"--Cache:DiskPath={Directory}", "--Cache:DiskBytes=4MiB", "--Cache:DiskSegmentBytes=1MiB",

            // A restart leaves what was evicted before, unless a test says otherwise.
            .. ((string[])["--Cache:MaxObjects=1", "--Cache:DiskSaveOnDrain=0"])
                .Where(option => !Options.Any(other => other.StartsWith(option.Split('=')[0], StringComparison.Ordinal))),
            .. Options,
        ]);

    /// <summary>Stops the service, does something to its files, and starts it again.</summary>
    public async Task RestartAsync(Action? meanwhile = null)
    {
        await Service.DisposeAsync();
        meanwhile?.Invoke();
        await StartServiceAsync();
    }

    public async ValueTask DisposeAsync()
    {
        await Service.DisposeAsync();
        await Origin.DisposeAsync();
        System.IO.Directory.Delete(Directory, recursive: true);
    }

    private Task AnswerAsync(OriginExchange exchange)
    {
        string body = BodyOf(exchange.Target);
        string fields = "Cache-Control: max-age=60\r\nX-Field: one\r\nX-Field: two\r\n";
        return exchange switch
        {
            { Method: "POST" } => exchange.SendAsync("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
            { Target: var target } when target.Contains("vary", StringComparison.Ordinal) =>
                exchange.AnswerAsync(body, $"{fields}Vary: X-Kind\r\nX-Seen: {exchange.Field("X-Kind")}\r\n"),
            { Target: var target } when target.Contains("valid", StringComparison.Ordinal) => exchange.Field("If-None-Match") is null
                ? exchange.AnswerAsync(body, $"{fields}ETag: \"one\"\r\nCache-Control: {target.Split(':')[^1].Replace('_', '=')}\r\n")
                : OnValidation(exchange),
            { Target: var target } when target.Contains("tagged", StringComparison.Ordinal) =>
                exchange.AnswerAsync(body, $"{fields}Surrogate-Key: red blue\r\n"),
            { Target: var target } when target.Contains("chunked", StringComparison.Ordinal) => exchange.SendAsync(
                $"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n{fields}\r\n{body.Length:x}\r\n{body}\r\n0\r\n\r\n"),
            _ => exchange.AnswerAsync(body, fields),
        };
    }
}
