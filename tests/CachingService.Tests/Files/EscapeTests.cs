using System.Globalization;
using CachingService.Tests.Infrastructure;
using FsCheck;
using FsCheck.Fluent;
using IoUringCache.Caching.Files;
using IoUringCache.Caching.Http;
using IoUringCache.Ring;
using IoUringCache.Ring.Files;

namespace CachingService.Tests.Files;

/// <summary>No target, and nothing that lies in the directory, leads out of it or to what is no file.</summary>
public sealed class EscapeTests
{
    /// <summary>What follows <c>/object/</c>. Each is 400, where the gate stops it, or 404, and the secret is never in the answer.</summary>
    public static TheoryData<string> Keys =>
    [
        // Dot segments, in every spelling.
        "../secret", "../../etc/passwd", "../outside/secret", "./../secret", "sub/../../secret", "sub/../../outside/secret", "sub/..", "..", ".",
        "%2e%2e/secret", "%2E%2E/secret", ".%2e/secret", "%2e./secret", "%2e%2e%2fsecret", "..%2fsecret", "..%2Fsecret", "sub/%2e%2e/%2e%2e/secret",
        "sub/..%2f..%2fsecret", "%2e", "%2e%2e", "sub/%2e", "sub/./file", "sub/%2e/file", "..?a", "sub/..?/secret",

        // Escaped twice or three times, and escapes of escapes.
        "%252e%252e/secret", "%252e%252e%252fsecret", "..%252fsecret", "%25252e%25252e/secret", "%25%32%65%25%32%65/secret", "%2%65%2%65/secret",

        // Backslashes, which are separators elsewhere.
        "..\\secret", "..%5csecret", "%2e%2e%5csecret", "sub\\..\\..\\secret", "sub%5c..%5c..%5csecret", "..%255csecret", "sub/..\\../secret",

        // Overlong and foreign spellings of a dot and a slash.
        "%c0%ae%c0%ae/secret", "%c0%ae%c0%ae%c0%afsecret", "%e0%80%ae%e0%80%ae/secret", "%f0%80%80%ae/secret", "..%c0%afsecret", "..%c1%9csecret",
        "%uff0e%uff0e/secret", "%ef%bc%8e%ef%bc%8e/secret", "..%e2%88%95secret", "..%ef%bc%8fsecret",

        // Absolute names, and names of other kinds of address.
        "/etc/passwd", "//etc/passwd", "%2fetc%2fpasswd", "/%2e%2e/secret", "file:///etc/passwd", "C:/secret", "C:%5csecret",
        "~root/secret", "$HOME/secret",

        // More and fewer dots, and dots that other systems drop.
        ".../secret", "..../secret", "....//secret", "..;/secret", "../;/secret", "%2e%2e;/secret", ".. /secret", "..%20/secret", "..%09/secret",
        "sub/file.", "sub/file%20", "sub/file/", "sub/file/.", "sub/file/..", "sub/file/../file",

        // NUL, control bytes, broken escapes, fragments.
        "%00", "sub/file%00", "sub/file%00.txt", "..%00/secret", "%2e%2e%00/secret", "sub/%0a../secret", "%", "%2", "%zz", "sub/file%", "..#/secret",

        // Empty segments, and what is hidden.
        "", "/", "sub//file", "sub/", "/sub/file", ".hidden", "sub/.hidden", "%2ehidden", ".git/config", ".well-known/x", "sub/.%2f../file",

        // Links that leave, and what comes behind them.
        "absolute-link", "relative-link", "directory-link/secret", "up/secret", "sub/deep-up/secret", "chain", "self", "back/secret",
        "back-in/sub/file", "slash/etc/passwd", "here/../../secret", "directory-link/../secret",

        // Magic links, and file systems of the kernel.
        "proc/self/root/etc/passwd", "proc-link/self/root/etc/passwd", "magic-root/etc/passwd", "magic-cwd", "magic-fd", "proc/self/environ",

        // What is no regular file.
        "fifo", "socket", "device", "null-link", "sub", "sub-link", "tty-link",
    ];

    [Fact]
    public void Keys_AreManyAndDifferent()
    {
        Assert.True(Keys.Count >= 60);
        Assert.Equal(Keys.Count, Keys.Select(row => (string)row).Distinct(StringComparer.Ordinal).Count());
    }

    [Fact]
    public async Task Key_ThatLeadsOutOrToNoFile_IsRefused()
    {
        using ServedFolder folder = MakeTraps();
        await using TestService service = await TestService.StartAsync(folder.Url);
        Assert.Equal("inside", (await service.FetchAsync("/object/sub/file")).Body);
        List<string> served = [];

        // Three times, because what two looks have found may be remembered.
        foreach (string key in Keys.Concat(Keys).Concat(Keys).Select(row => (string)row))
        {
            await using RawClient client = await service.GetAsync($"/object/{key}");
            RawResponse head = await client.ReadHeadAsync();
            if (head.Status is not (400 or 404) || head["ETag"] is not null)
            {
                served.Add(string.Create(CultureInfo.InvariantCulture, $"{key}: {head.Status}"));
            }
        }

        Assert.Empty(served);
        Assert.Equal("inside", (await service.FetchAsync("/object/sub/file")).Body);
        await service.IsAtRestAsync();
    }

    [Theory]
    [InlineData("/etc/passwd")]
    [InlineData("/objects/../object/secret")]
    [InlineData("http://127.0.0.1/object/../secret")]
    [InlineData("/object/http://127.0.0.1/../secret")]
    [InlineData("//object/sub/file")]
    [InlineData("/Object/sub/file")]
    [InlineData("/%6fbject/sub/file")]
    [InlineData("/object%2fsub/file")]
    public async Task Target_ThatIsNoKey_IsRefused(string target)
    {
        using ServedFolder folder = MakeTraps();
        await using TestService service = await TestService.StartAsync(folder.Url);

        (RawResponse head, string body) = await service.FetchAsync(target);

        Assert.True(head.Status is 400 or 404, head.Head);
        Assert.Equal("", body);
    }

    [Theory]
    [InlineData("within")]
    [InlineData("within-directory/file")]
    [InlineData("sub/up-and-down")]
    [InlineData("here/sub/file")]
    public async Task Link_ThatStaysInside_IsFollowed(string key)
    {
        using ServedFolder folder = MakeTraps();
        await using TestService service = await TestService.StartAsync(folder.Url);

        Assert.Equal("inside", (await service.FetchAsync($"/object/{key}")).Body);
    }

    /// <summary>Past the gate and past the checks of the key: whatever bytes are asked for, what is opened lies inside.</summary>
    [Fact]
    public void Directory_AskedForAnyName_OpensOnlyWhatLiesInside()
    {
        using ServedFolder folder = MakeTraps();
        using ServedDirectory directory = ServedDirectory.Open(folder.Root, TimeProvider.System);
        ulong[] inside = [.. ServedFiles(folder.Root).Select(InodeOf)];
        string[] pieces =
        [
            "..", ".", "/", "//", "sub", "file", "secret", "outside", "up", "back", "chain", "absolute-link", "directory-link", "here", "slash",
            "magic-root", "etc", "passwd", "proc", "self", "root", "within", "within-directory", ".hidden", "fifo", "device",
        ];
        int opened = 0;

        Gen<string> anyName =
            from parts in Gen.ListOf(Gen.Elements(pieces))
            from slash in Gen.Elements("", "/")
            select string.Join(slash.Length == 0 ? "/" : "", parts);
        Gen<string> goodName = Gen.Elements("within", "within-directory/file", "sub/up-and-down", "here/sub/file");

        Seeded.Check(
            Gen.Frequency((9, anyName), (1, goodName)),
            name =>
            {
                Errno error = directory.TryOpen(new(name, ContentCoding.Identity), out ServedFile? file);
                using (file)
                {
                    opened += file is null ? 0 : 1;
                    return (file is null) == (error != Errno.None) && (file is null || inside.Contains(file.Head.Status.Inode));
                }
            });

        Assert.True(opened > 0, "Nothing was opened, so nothing was shown.");
    }

    /// <summary>A check of the name before it is opened would lose this race now and then.</summary>
    [Fact]
    public async Task Directory_SwappedForALinkOutWhileNamesAreOpened_LetsNobodyOut()
    {
        const int Opens = 20_000;
        using ServedFolder folder = new();
        folder.Make("good/secret", "inside");
        folder.Link("bad", "../outside");
        using ServedDirectory directory = ServedDirectory.Open(folder.Root, TimeProvider.System);
        string flip = Path.Combine(folder.Root, "flip");
        using CancellationTokenSource over = new();
        Task swapping = Task.Run(
            () =>
            {
                while (!over.IsCancellationRequested)
                {
                    Directory.Move(Path.Combine(folder.Root, "good"), flip);
                    Directory.Move(flip, Path.Combine(folder.Root, "good"));
                    File.CreateSymbolicLink(flip, "../outside");
                    File.Delete(flip);
                }
            },
            TestContext.Current.CancellationToken);

        int lengths = 0;
        for (int open = 0; open < Opens; open++)
        {
            directory.TryOpen(new("flip/secret", ContentCoding.Identity), out ServedFile? file);
            using (file)
            {
                lengths |= (int)(file?.Head.Length ?? 0);
            }
        }

        await over.CancelAsync();
        await swapping.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
        Assert.True(lengths is 0 or 6, "Something else than the file inside was opened.");
    }

    /// <summary>There, magic links lie beneath the directory itself.</summary>
    [Theory]
    [InlineData("self/root/etc/passwd")]
    [InlineData("self/exe")]
    [InlineData("self/cwd/CachingService.dll")]
    [InlineData("self/fd/0")]
    [InlineData("thread-self/root/etc/passwd")]
    public async Task MagicLink_BeneathTheDirectory_IsNotFollowed(string key)
    {
        await using TestService service = await TestService.StartAsync("file:///proc");

        Assert.Equal(404, (await service.FetchAsync($"/object/{key}")).Head.Status);
        Assert.Equal(200, (await service.FetchAsync("/object/self/status")).Head.Status);
    }

    [Fact]
    public async Task Fifo_ThatNobodyWritesTo_HoldsNobodyUp()
    {
        using ServedFolder folder = MakeTraps();
        await using TestService service = await TestService.StartAsync(folder.Url, "--Scheduling=Inline");

        (RawResponse head, _) = await service.FetchAsync("/object/fifo");

        Assert.Equal((404, "CachingService; detail=no-such-file"), (head.Status, head.CacheStatus));
    }

    private static ServedFolder MakeTraps()
    {
        ServedFolder folder = new();
        folder.Make("sub/file", "inside");
        folder.Make(".hidden", ServedFolder.Secret);
        folder.Make("sub/.hidden", ServedFolder.Secret);
        folder.Make(".git/config", ServedFolder.Secret);
        folder.Make(".well-known/x", ServedFolder.Secret);
        folder.Link("absolute-link", "/etc/passwd");
        folder.Link("relative-link", "../secret");
        folder.Link("directory-link", "../outside");
        folder.Link("up", "..");
        folder.Link("sub/deep-up", "../..");
        folder.Link("chain", "relative-link");
        folder.Link("self", "self");
        folder.Link("back", "sub/../..");
        folder.Link("back-in", "../root");
        folder.Link("slash", "/");
        folder.Link("here", ".");
        folder.Link("magic-root", "/proc/self/root");
        folder.Link("magic-cwd", "/proc/self/cwd");
        folder.Link("magic-fd", "/proc/self/fd/0");
        folder.Link("proc-link", "/proc");
        folder.Link("null-link", "/dev/null");
        folder.Link("tty-link", "/dev/tty");
        folder.Link("sub-link", "sub");
        folder.Link("within", "sub/file");
        folder.Link("within-directory", "sub");
        folder.Link("sub/up-and-down", "../sub/file");
        Assert.True(folder.Shell("mkfifo fifo"));
        Assert.True(folder.Shell("python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"socket\")'"));

        // Only root may make one; without it the name is just missing.
        folder.Shell("mknod device c 1 5");
        return folder;
    }

    /// <summary>Links are left out: what they lead to is listed itself if it is inside.</summary>
    private static IEnumerable<string> ServedFiles(string folder) =>
        ((string[])["sub/file", ".hidden", "sub/.hidden", ".git/config", ".well-known/x"]).Select(name => Path.Combine(folder, name));

    private static ulong InodeOf(string path)
    {
        using Microsoft.Win32.SafeHandles.SafeFileHandle file = File.OpenHandle(path);
        return FileStatus.Of(file).Inode;
    }
}
