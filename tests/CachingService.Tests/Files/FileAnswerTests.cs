using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Files;
using IoUringCache.Ring;

namespace CachingService.Tests.Files;

/// <summary>What is answered for a file, and for what is none.</summary>
public sealed class FileAnswerTests : IDisposable
{
    private readonly ServedFolder _folder = new();

    [Fact]
    public async Task File_AskedFor_ComesWithWhatIsKnownOfIt()
    {
        _folder.Make("dir/page.html", "<p>");
        await using TestService service = await StartAsync();

        (RawResponse head, string body) = await service.FetchAsync("/object/dir/page.html?v=1");

        Assert.Equal((200, "<p>", "3", "text/html"), (head.Status, body, head["Content-Length"], head["Content-Type"]));
        Assert.Equal((ServedFolder.ChangedText, "bytes", "Accept-Encoding"), (head["Last-Modified"], head["Accept-Ranges"], head["Vary"]));
        Assert.Matches("^\"[0-9a-f]+-3-[0-9a-f]+[.]0\"$", head["ETag"]);

        // There is no cache between the file and the client, and the service is the origin.
        Assert.Equal(
            (null, null, null, null, null), (head["Cache-Status"], head["Age"], head["Via"], head["Cache-Control"], head["Content-Encoding"]));
        Assert.Equal((3, 0), (service.Host.Metrics.SentBytes, service.Host.Cache.Store.Count));
        await service.IsAtRestAsync();
    }

    [Theory]
    [InlineData("a.txt", "text/plain")]
    [InlineData("a.TXT", "text/plain")]
    [InlineData("film.mp4", "video/mp4")]
    [InlineData("a.js", "text/javascript")]
    [InlineData("noextension", "application/octet-stream")]
    [InlineData("a.unheard-of", "application/octet-stream")]
    [InlineData("a%ff.css", "text/css")]
    public async Task ContentType_IsByTheExtension(string key, string expected)
    {
        string name = Uri.UnescapeDataString(key);
        Assert.True(_folder.Shell($"printf x > \"$(printf '{name.Replace("%ff", "\\377", StringComparison.Ordinal)}')\""));
        await using TestService service = await StartAsync();

        Assert.Equal(expected, (await service.FetchAsync($"/object/{key}")).Head["Content-Type"]);
    }

    [Fact]
    public async Task Name_ThatIsNotUtf8_IsItsBytes()
    {
        Assert.True(_folder.Shell("printf bytes > \"$(printf '\\377\\376 a')\""));
        await using TestService service = await StartAsync();

        Assert.Equal("bytes", (await service.FetchAsync("/object/%ff%fe%20a")).Body);
    }

    [Fact]
    public async Task Head_AskedFor_IsThatOfTheGet()
    {
        _folder.Make("a.txt", "hello");
        await using TestService service = await StartAsync();
        await using RawClient client = await service.GetAsync("/object/a.txt", "Range: bytes=0-1\r\n", "HEAD");

        (RawResponse head, _) = await client.ReadAsync(isHead: true);
        await client.SendAsync("/object/a.txt");
        (RawResponse get, string body) = await client.ReadAsync();

        Assert.Equal((200, "5", "hello"), (head.Status, head["Content-Length"], body));
        Assert.Equal(get["ETag"], head["ETag"]);
    }

    [Fact]
    public async Task File_OfNoLength_IsWholeAndHasNoRange()
    {
        _folder.Make("empty", "");
        await using TestService service = await StartAsync();

        (RawResponse whole, string body) = await service.FetchAsync("/object/empty");
        (RawResponse range, _) = await service.FetchAsync("/object/empty", "Range: bytes=0-0\r\n");

        Assert.Equal((200, "0", ""), (whole.Status, whole["Content-Length"], body));
        Assert.Equal((416, "bytes */0"), (range.Status, range["Content-Range"]));
    }

    [Fact]
    public async Task Options_OfTheServerAsAWhole_NameTheMethodsOfFiles()
    {
        await using TestService service = await StartAsync();

        RawResponse head = (await service.FetchAsync("*", method: "OPTIONS")).Head;

        Assert.Equal((200, "GET, HEAD"), (head.Status, head["Allow"]));
    }

    [Theory]
    [InlineData("POST")]
    [InlineData("PUT")]
    [InlineData("DELETE")]
    [InlineData("OPTIONS")]
    [InlineData("TRACE")]
    [InlineData("PROPFIND")]
    public async Task Method_OtherThanGetAndHead_Is405(string method)
    {
        _folder.Make("a", "x");
        await using TestService service = await StartAsync();

        (RawResponse head, _) = await service.FetchAsync("/object/a", "Content-Length: 0\r\n", method);

        Assert.Equal((405, "GET, HEAD"), (head.Status, head["Allow"]));
    }

    [Theory]
    [InlineData("/object/missing", 404, "no-such-file")]
    [InlineData("/object/dir", 404, "no-such-file")]
    [InlineData("/object/dir/", 404, "no-such-file")]
    [InlineData("/object/", 404, "no-such-file")]
    [InlineData("/object", 404, "empty-id")]
    [InlineData("/object/dir/a/b", 404, "no-such-file")]
    [InlineData("/object/dir/.hidden", 404, "no-such-file")]
    [InlineData("/other", 404, "unknown-path")]
    public async Task Target_OfNoFile_IsRefusedAlike(string target, int status, string detail)
    {
        _folder.Make("dir/a", "x");
        _folder.Make("dir/.hidden", "x");
        await using TestService service = await StartAsync();

        (RawResponse head, _) = await service.FetchAsync(target);

        Assert.Equal((status, $"CachingService; detail={detail}", "no-store"), (head.Status, head.CacheStatus, head["Cache-Control"]));
        await service.IsAtRestAsync();
    }

    [Theory]
    [InlineData(300)]
    [InlineData(5000)]
    public async Task Name_ThatIsTooLong_IsMissing(int length)
    {
        await using TestService service = await StartAsync();

        Assert.Equal(404, (await service.FetchAsync($"/object/{new string('a', length)}")).Head.Status);
    }

    [Fact]
    public async Task Health_IsAsEver()
    {
        await using TestService service = await StartAsync();

        Assert.Equal("OK", (await service.FetchAsync("/health")).Body);
    }

    [Theory]
    [InlineData("60s", "max-age=60")]
    [InlineData("500ms", null)]
    [InlineData("0", null)]
    public async Task DefaultTtl_IsTheLifetimeOfFiles(string ttl, string? expected)
    {
        _folder.Make("a", "x");
        await using TestService service = await StartAsync($"--Cache:DefaultTtl={ttl}");

        (RawResponse head, _) = await service.FetchAsync("/object/a");

        Assert.Equal(expected, head["Cache-Control"]);
        Assert.Equal(expected, (await NotModifiedAsync(service, head["ETag"]!))["Cache-Control"]);
    }

    [Theory]
    [InlineData(3600.0, false)]
    [InlineData(2.0, false)]
    [InlineData(1.999, true)]
    [InlineData(0.0, true)]
    [InlineData(-86400.0, true)]
    public async Task Tag_OfWhatHasJustChanged_IsWeak(double secondsAgo, bool isWeak)
    {
        // The fake clock stands at its start.
        string path = _folder.Make("a", "x");
        File.SetLastWriteTimeUtc(path, Heads.Now.AddSeconds(-secondsAgo).UtcDateTime);
        await using TestService service = await StartAsync();

        (RawResponse head, _) = await service.FetchAsync("/object/a");

        Assert.Equal(isWeak, head["ETag"]!.StartsWith("W/", StringComparison.Ordinal));
        Assert.Equal(304, (await NotModifiedAsync(service, head["ETag"]!)).Status);

        // A weak tag is good for no range, and one of the future not for Last-Modified.
        (RawResponse range, _) = await service.FetchAsync("/object/a", $"Range: bytes=0-0\r\nIf-Range: {head["ETag"]}\r\n");
        Assert.Equal(isWeak ? 200 : 206, range.Status);
        Assert.True(secondsAgo >= 0 || head["Last-Modified"] == "Tue, 01 Jan 2030 00:00:00 GMT", head.Head);
    }

    [Fact]
    public async Task Tag_IsAnotherAfterEachChangeOfContentTimeOrFile()
    {
        string path = _folder.Make("a", "one");
        await using TestService service = await StartAsync();
        HashSet<string?> tags = [await TagAsync()];

        File.WriteAllText(path, "three");
        File.SetLastWriteTimeUtc(path, ServedFolder.Changed.UtcDateTime);
        Assert.True(tags.Add(await TagAsync()), "another length");
        File.SetLastWriteTimeUtc(path, ServedFolder.Changed.UtcDateTime.AddTicks(1));
        Assert.True(tags.Add(await TagAsync()), "another time");
        File.Move(_folder.Make("b", "three", TimeSpan.FromTicks(1)), path, overwrite: true);
        Assert.True(tags.Add(await TagAsync()), "another file");
        Assert.False(tags.Add(await TagAsync()), "nothing");

        async Task<string?> TagAsync()
        {
            service.Time.Advance(TimeSpan.FromSeconds(1));
            return (await service.FetchAsync("/object/a")).Head["ETag"];
        }
    }

    [Theory]
    [InlineData(Errno.ENOENT, 404)]
    [InlineData(Errno.ENOTDIR, 404)]
    [InlineData(Errno.EXDEV, 404)]
    [InlineData(Errno.ELOOP, 404)]
    [InlineData(Errno.ENXIO, 404)]
    [InlineData(Errno.EACCES, 403)]
    [InlineData(Errno.EPERM, 403)]
    [InlineData(Errno.EMFILE, 503)]
    [InlineData(Errno.ENFILE, 503)]
    [InlineData(Errno.ENOMEM, 503)]
    [InlineData(Errno.EAGAIN, 503)]
    [InlineData(Errno.EIO, 500)]
    public void Error_OfOpening_HasItsStatus(Errno error, int status) => Assert.Equal(status, OpenFailure.AnswerTo(error).StatusCode);

    [Fact]
    public async Task File_ThatMayNotBeRead_Is403AndLogged()
    {
        Assert.SkipWhen(Environment.IsPrivilegedProcess, "A privileged process may read every file.");
        string path = _folder.Make("a", "x");
        File.SetUnixFileMode(path, UnixFileMode.None);
        await using TestService service = await StartAsync();

        Assert.Equal(403, (await service.FetchAsync("/object/a")).Head.Status);
        Assert.Single(service.Log.Warnings);
    }

    [Fact]
    public async Task Requests_AndBytes_AreCounted()
    {
        _folder.Make("a", "hello");
        await using TestService service = await StartAsync();
        await service.FetchAsync("/object/a");
        await service.FetchAsync("/object/a");
        await service.FetchAsync("/object/a");
        await service.FetchAsync("/object/missing");
        using HttpClient operatorClient = new();

        string metrics = await operatorClient.GetStringAsync($"{service.Host.AdminUrl}/metrics", TestContext.Current.CancellationToken)
            .WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);

        Assert.Contains("\ncache_files_total 4\n", metrics, StringComparison.Ordinal);
        Assert.Contains("\ncache_files_opened_total 3\n", metrics, StringComparison.Ordinal);
        Assert.Contains("\ncache_files_kept 1\n", metrics, StringComparison.Ordinal);
        Assert.Contains($"\ncache_files_memory_bytes {service.Host.Cache.Kept.Bytes}\n", metrics, StringComparison.Ordinal);
        Assert.Contains("\ncache_sent_bytes_total 15\n", metrics, StringComparison.Ordinal);
    }

    public void Dispose() => _folder.Dispose();

    private static async Task<RawResponse> NotModifiedAsync(TestService service, string tag)
    {
        await using RawClient client = await service.GetAsync("/object/a", $"If-None-Match: {tag}\r\n");
        return await client.ReadHeadAsync();
    }

    private Task<TestService> StartAsync(params string[] options) => TestService.StartAsync(_folder.Url, options);
}
