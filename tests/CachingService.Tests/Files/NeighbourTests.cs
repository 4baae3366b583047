using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Files;

/// <summary>Files that somebody has encoded beforehand are chosen as the client wants them.</summary>
public sealed class NeighbourTests : IDisposable
{
    private readonly ServedFolder _folder = new();

    /// <summary>Which neighbours there are, Accept-Encoding, and what is served; 406 where nothing is.</summary>
    public static TheoryData<string, string, string> Choices => new()
    {
        { "br gz", "", "plain" },
        { "br gz", "identity", "plain" },
        { "br gz", "gzip, deflate, br, zstd", "brotli" },
        { "gz", "gzip, deflate, br, zstd", "gzipped" },
        { "br", "gzip, deflate, br, zstd", "brotli" },
        { "", "gzip, deflate, br, zstd", "plain" },
        { "br gz", "gzip", "gzipped" },
        { "br gz", "x-gzip", "gzipped" },
        { "br gz", "BR", "brotli" },
        { "br gz", "*", "brotli" },
        { "br gz", "*;q=0.5, br;q=0", "gzipped" },
        { "br gz", "gzip;q=1.0, br;q=0.5", "gzipped" },
        { "br gz", "gzip;q=0.5, br;q=0.501", "brotli" },
        { "br", "gzip;q=1.0, br;q=0.5", "brotli" },
        { "br gz", "gzip;q=0.001", "gzipped" },
        { "br gz", "gzip;q=0", "plain" },
        { "br gz", "identity;q=1, gzip;q=0.5, br;q=0.9", "plain" },
        { "br gz", "identity;q=0.5, gzip;q=0.6, br;q=0.4", "gzipped" },
        { "br", "identity;q=0.5, gzip;q=0.6, br;q=0.4", "plain" },
        { "br gz", "identity;q=0.5, gzip;q=0.5", "gzipped" },
        { "br gz", "gzip, identity;q=0", "gzipped" },
        { "gz", "br, identity;q=0", "406" },
        { "", "gzip, *;q=0", "406" },
        { "br gz", "zstd, identity;q=0", "406" },
        { "br gz", "*;q=0", "406" },
    };

    [Theory]
    [MemberData(nameof(Choices))]
    public async Task Form_IsTheOneThatTheClientWantsMost(string neighbours, string accepted, string expected)
    {
        Make(neighbours);
        await using TestService service = await StartAsync();

        (RawResponse head, string body) = await service.FetchAsync("/object/a.txt", Accept(accepted));

        Assert.Equal("Accept-Encoding", head["Vary"]);
        if (expected == "406")
        {
            Assert.Equal((406, "CachingService; detail=accept-encoding"), (head.Status, head.CacheStatus));
            return;
        }

        string? coding = expected switch { "brotli" => "br", "gzipped" => "gzip", _ => null };
        Assert.Equal((200, expected, coding, "text/plain"), (head.Status, body, head["Content-Encoding"], head["Content-Type"]));
        await service.IsAtRestAsync();
    }

    [Theory]
    [InlineData(-1, "plain")]
    [InlineData(0, "gzipped")]
    [InlineData(1, "gzipped")]
    public async Task Neighbour_OlderThanTheFile_IsNone(int ticksYounger, string expected)
    {
        _folder.Make("a.txt", "plain");
        _folder.Make("a.txt.gz", "gzipped", TimeSpan.FromTicks(ticksYounger));
        await using TestService service = await StartAsync();

        Assert.Equal(expected, (await service.FetchAsync("/object/a.txt", Accept("gzip"))).Body);
    }

    [Theory]
    [InlineData("mkdir a.txt.gz")]
    [InlineData("mkfifo a.txt.gz")]
    [InlineData("ln -s ../secret a.txt.gz")]
    public async Task Neighbour_ThatIsNoServedFile_IsNone(string command)
    {
        _folder.Make("a.txt", "plain");
        Assert.True(_folder.Shell(command));
        await using TestService service = await StartAsync();

        Assert.Equal("plain", (await service.FetchAsync("/object/a.txt", Accept("gzip"))).Body);
    }

    [Fact]
    public async Task Neighbour_WithoutTheFile_IsNone()
    {
        _folder.Make("a.txt.gz", "gzipped");
        await using TestService service = await StartAsync();

        Assert.Equal(404, (await service.FetchAsync("/object/a.txt", Accept("gzip"))).Head.Status);
        (RawResponse itself, string body) = await service.FetchAsync("/object/a.txt.gz", Accept("gzip"));
        Assert.Equal(("gzipped", null), (body, itself["Content-Encoding"]));
    }

    [Fact]
    public async Task Forms_HaveTagsOfTheirOwn_AlsoWhereTheyAreOneFile()
    {
        _folder.Make("a.txt", "plain");
        Assert.True(_folder.Shell("ln a.txt a.txt.gz && ln a.txt a.txt.br"));
        await using TestService service = await StartAsync();

        string?[] tags = [await TagAsync("identity"), await TagAsync("gzip"), await TagAsync("br")];

        Assert.Equal(3, tags.Distinct(StringComparer.Ordinal).Count());
        Assert.Equal(200, (await service.FetchAsync("/object/a.txt", Accept("gzip") + $"If-None-Match: {tags[0]}\r\n")).Head.Status);

        async Task<string?> TagAsync(string accepted) => (await service.FetchAsync("/object/a.txt", Accept(accepted))).Head["ETag"];
    }

    public void Dispose() => _folder.Dispose();

    private static string Accept(string accepted) => accepted.Length == 0 ? "" : $"Accept-Encoding: {accepted}\r\n";

    private void Make(string neighbours)
    {
        _folder.Make("a.txt", "plain");
        foreach (string suffix in neighbours.Split(' ', StringSplitOptions.RemoveEmptyEntries))
        {
            _folder.Make($"a.txt.{suffix}", suffix == "br" ? "brotli" : "gzipped");
        }
    }

    private Task<TestService> StartAsync() => TestService.StartAsync(_folder.Url);
}
