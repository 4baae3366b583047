using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Files;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Options;
using IoUringCache.Ring;

namespace CachingService.Tests.Files;

/// <summary>
/// <c>Cache:FileValidity</c>: a small file is the one of a moment ago, whole and with its own tag, and the one of now when that moment has passed.
/// </summary>
public sealed class FileValidityTests : IDisposable
{
    private static readonly TimeSpan s_validity = TimeSpan.FromSeconds(1);

    private readonly ServedFolder _folder = new();

    /// <summary>What is done to a file <c>a</c> of <c>old</c>, and what it is afterwards; <see langword="null"/>: gone.</summary>
    public static TheoryData<string, string?> Changes => new()
    {
        { "printf longer > b && mv b a", "longer" },
        { "printf new > b && mv b a", "new" },
        { "printf new > a", "new" },
        { "printf 'old and more' > a", "old and more" },
        { "printf o > a", "o" },
        { ": > a", "" },
        { "rm a", null },
        { "rm a && mkdir a", null },
        { "rm a && mkfifo a", null },
        { "ln -sf ../secret a", null },
        { "ln -sf /etc/passwd a", null },
    };

    [Theory]
    [MemberData(nameof(Changes))]
    public async Task Change_WithinTheValidity_ShowsAfterIt(string command, string? now)
    {
        _folder.Make("a", "old");
        await using TestService service = await StartAsync();
        RawResponse first = await WarmAsync(service, "/object/a");
        Assert.True(_folder.Shell(command));

        service.Time.Advance(s_validity - TimeSpan.FromTicks(1));
        (RawResponse within, string body) = await service.FetchAsync("/object/a");
        Assert.Equal((200, "old", first["ETag"]), (within.Status, body, within["ETag"]));
        (RawResponse part, string middle) = await service.FetchAsync("/object/a", $"Range: bytes=1-2\r\nIf-Range: {first["ETag"]}\r\n");
        Assert.Equal((206, "ld", "bytes 1-2/3"), (part.Status, middle, part["Content-Range"]));

        service.Time.Advance(TimeSpan.FromTicks(1));
        (RawResponse after, string changed) = await service.FetchAsync("/object/a", $"If-None-Match: {first["ETag"]}\r\n");
        Assert.Equal((now is null ? 404 : 200, now ?? ""), (after.Status, changed));
        Assert.NotEqual(first["ETag"], after["ETag"]);
        await service.IsAtRestAsync();
    }

    [Theory]
    [MemberData(nameof(Changes))]
    public async Task Change_WithoutValidity_ShowsAtOnce(string command, string? now)
    {
        _folder.Make("a", "old");
        await using TestService service = await StartAsync("--Cache:FileValidity=0");
        await WarmAsync(service, "/object/a");
        Assert.True(_folder.Shell(command));

        (RawResponse after, string changed) = await service.FetchAsync("/object/a");

        Assert.Equal((now is null ? 404 : 200, now ?? "", 0), (after.Status, changed, service.Host.Cache.Kept.Count));
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Folder_SwappedForALinkOut_LetsNobodyOut()
    {
        _folder.Make("dir/secret", "inside");
        await using TestService service = await StartAsync();
        await WarmAsync(service, "/object/dir/secret");
        Assert.True(_folder.Shell("mv dir gone && ln -s ../outside dir"));

        Assert.Equal("inside", (await service.FetchAsync("/object/dir/secret")).Body);
        service.Time.Advance(s_validity);
        (RawResponse head, string body) = await service.FetchAsync("/object/dir/secret");
        Assert.Equal((404, ""), (head.Status, body));
    }

    [Fact]
    public async Task Missing_ThatComes_IsThereAtOnce()
    {
        await using TestService service = await StartAsync();
        Assert.Equal(404, (await WarmAsync(service, "/object/a", "Accept-Encoding: br, gzip\r\n")).Status);
        Assert.Equal(0, service.Host.Cache.Kept.Count);
        _folder.Make("a", "new");

        Assert.Equal("new", (await service.FetchAsync("/object/a")).Body);
    }

    [Fact]
    public async Task Neighbour_ThatComes_ShowsAfterTheValidity()
    {
        _folder.Make("a", "plain");
        await using TestService service = await StartAsync();
        await WarmAsync(service, "/object/a", "Accept-Encoding: br, gzip\r\n");
        _folder.Make("a.gz", "gzipped");

        Assert.Equal(("plain", 3), (await FetchAsync(), service.Host.Cache.Kept.Count));
        service.Time.Advance(s_validity);
        Assert.Equal("gzipped", await FetchAsync());
        Assert.Equal("gzipped", await FetchAsync());
        File.Delete(Path.Combine(_folder.Root, "a.gz"));
        Assert.Equal("gzipped", await FetchAsync());
        service.Time.Advance(s_validity);
        Assert.Equal("plain", await FetchAsync());

        async Task<string> FetchAsync() => (await service.FetchAsync("/object/a", "Accept-Encoding: br, gzip\r\n")).Body;
    }

    [Theory]
    [InlineData(KeptFiles.MaxFileBytes, "a")]
    [InlineData(KeptFiles.MaxFileBytes + 1, "b")]
    public async Task File_OfMoreThanTheLimit_IsLookedAtEachTime(int length, string expected)
    {
        string path = _folder.Fill("x", 'a', length);
        await using TestService service = await StartAsync();
        await WarmAsync(service, "/object/x");
        Assert.Equal(new string('a', length), (await service.FetchAsync("/object/x")).Body);
        File.Move(_folder.Fill("y", 'b', length), path, overwrite: true);

        Assert.Equal(expected, (await service.FetchAsync("/object/x")).Body[..1]);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Files_ThatAreKept_HoldNoDescriptor()
    {
        const int Files = 50;
        for (int index = 0; index < Files; index++)
        {
            _folder.Make($"{index}", "x");
        }

        await using (TestService service = await StartAsync())
        {
            for (int index = 0; index < 3 * Files; index++)
            {
                Assert.Equal("x", (await service.FetchAsync($"/object/{index / 3}", "Accept-Encoding: gzip\r\n")).Body);
            }

            Assert.Equal((2 * Files, 0), (service.Host.Cache.Kept.Count, OpenFiles()));
        }

        Assert.Equal(0, OpenFiles());

        int OpenFiles() => Directory.GetFiles("/proc/self/fd")
            .Count(descriptor => new FileInfo(descriptor).LinkTarget?.StartsWith($"{_folder.Root}/", StringComparison.Ordinal) == true);
    }

    [Fact]
    public async Task Spellings_OfOneName_AreOneEntry()
    {
        _folder.Make("a b", "x");
        await using TestService service = await StartAsync();

        Assert.Equal("x", (await service.FetchAsync("/object/a%20b")).Body);
        Assert.Equal("x", (await service.FetchAsync("/object/%61%20%62?v=1")).Body);
        Assert.Equal("x", (await service.FetchAsync("/object/a%20%62?v=2")).Body);

        Assert.Equal(1, service.Host.Cache.Kept.Count);
    }

    /// <summary>A head that is not that of the bytes would be a lie for as long as they are kept.</summary>
    [Theory]
    [InlineData("printf new > a")]
    [InlineData("printf o > a")]
    [InlineData("printf 'old and more' > a")]
    [InlineData("touch a")]
    public async Task File_ChangedBetweenOpeningAndReading_IsNotKept(string command)
    {
        _folder.Make("a", "old");
        using ServedDirectory directory = ServedDirectory.Open(_folder.Root, TimeProvider.System);
        Assert.Equal(Errno.None, directory.TryOpen(new("a", ContentCoding.Identity), out ServedFile? file));
        using (file)
        {
            Assert.Equal(3, (await ReadAsync(file!))?.MemoryBytes);
            Assert.True(_folder.Shell(command));
            Assert.Null(await ReadAsync(file!));
        }

        static async Task<ServedFile?> ReadAsync(ServedFile file) =>
            await file.TryReadAsync().AsTask().WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
    }

    /// <summary>Whether another change may come was known when the file was read: the tag stays as it was then.</summary>
    [Fact]
    public async Task Tag_OfWhatHadJustChanged_BecomesStrongWhenItIsReadAgain()
    {
        string path = _folder.Make("a", "x");
        File.SetLastWriteTimeUtc(path, Heads.Now.AddSeconds(-1.5).UtcDateTime);
        await using TestService service = await StartAsync();
        await WarmAsync(service, "/object/a");
        List<bool> weak = [];
        for (int look = 0; look < 4; look++)
        {
            weak.Add((await service.FetchAsync("/object/a")).Head["ETag"]!.StartsWith("W/", StringComparison.Ordinal));
            service.Time.Advance(TimeSpan.FromSeconds(0.9));
        }

        // Kept until 1 s, and at 0.9 s more than 2 s had passed since the change.
        Assert.Equal([true, true, false, false], weak);
    }

    [Fact]
    public async Task DiskTier_OfADirectory_IsRefused()
    {
        OptionException failure = await Assert.ThrowsAsync<OptionException>(() => StartAsync("--Cache:DiskPath=/nowhere"));

        Assert.Equal("Option Cache:DiskPath: cannot be given where Cache:Origin is a directory: nothing is stored.", failure.Message);
        Assert.False(Directory.Exists("/nowhere"));
    }

    public void Dispose() => _folder.Dispose();

    /// <summary>Asks twice, after which it is kept, if it can be.</summary>
    private static async Task<RawResponse> WarmAsync(TestService service, string target, string fields = "")
    {
        await service.FetchAsync(target, fields);
        return (await service.FetchAsync(target, fields)).Head;
    }

    private Task<TestService> StartAsync(params string[] options) => TestService.StartAsync(_folder.Url, options);
}
