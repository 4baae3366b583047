using System.Diagnostics;
using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Options;

namespace CachingService.Tests.Disk;

/// <summary>
/// The disk tier uses a directory that is its own and that nobody else may write to, and in it no file that could be somebody else's.
/// </summary>
public sealed class DiskDirectoryTests : IDisposable
{
    private const UnixFileMode Owner = UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute;

    private readonly string _folder = Directory.CreateTempSubdirectory("disk-directory-").FullName;

    private string Disk => Path.Combine(_folder, "disk");

    private string Outside => Path.Combine(_folder, "outside");

    public static TheoryData<string> Names => new("lock", "purges", "segment-00000", "segment-00001");

    [Fact]
    public async Task Directory_ThatIsMissing_IsMadeForItsOwnerAlone()
    {
        await using TestService service = await StartAsync();

        Assert.Equal(Owner, File.GetUnixFileMode(Disk));
    }

    [Fact]
    public async Task Directory_OfAnotherUser_IsRefused()
    {
        // Who is not root may not give a directory away, but there are some.
        string path = Environment.IsPrivilegedProcess ? Disk : "/usr";
        if (Environment.IsPrivilegedProcess)
        {
            Directory.CreateDirectory(Disk, Owner);
            Run("chown", "12345", Disk);
        }

        string refusal = await RefusalAsync(path);

        Assert.StartsWith($"Option Cache:DiskPath: cannot use '{path}': user {(path == Disk ? 12345 : 0)} owns it", refusal, StringComparison.Ordinal);
        Assert.Contains("chown", refusal, StringComparison.Ordinal);
        Assert.False(Path.Exists(Path.Combine(path, "lock")));
    }

    [Theory]
    [InlineData(UnixFileMode.GroupWrite, "720")]
    [InlineData(UnixFileMode.OtherWrite, "702")]
    [InlineData(UnixFileMode.OtherWrite | UnixFileMode.OtherRead | UnixFileMode.OtherExecute | UnixFileMode.StickyBit, "1707")]
    public async Task Directory_ThatOthersMayWriteTo_IsRefused(UnixFileMode others, string mode)
    {
        Directory.CreateDirectory(Disk);
        File.SetUnixFileMode(Disk, Owner | others);

        string refusal = await RefusalAsync(Disk);

        Assert.StartsWith($"Option Cache:DiskPath: cannot use '{Disk}': its mode {mode} lets others write to it", refusal, StringComparison.Ordinal);
        Assert.Contains("chmod go-w", refusal, StringComparison.Ordinal);
        Assert.Empty(Directory.GetFileSystemEntries(Disk));
    }

    [Fact]
    public async Task Directory_ThatOthersMayRead_IsUsed()
    {
        Directory.CreateDirectory(Disk);
        File.SetUnixFileMode(Disk, Owner | UnixFileMode.GroupRead | UnixFileMode.OtherRead | UnixFileMode.OtherExecute);

        await using TestService service = await StartAsync();

        Assert.Equal(4, Directory.GetFiles(Disk, "segment-*").Length);
    }

    [Fact]
    public async Task Directory_BehindALink_IsUsed()
    {
        // As systemd lays out the cache directories of dynamic users.
        Directory.CreateDirectory(Outside, Owner);
        File.CreateSymbolicLink(Disk, Outside);

        await using TestService service = await StartAsync();

        Assert.Equal(4, Directory.GetFiles(Outside, "segment-*").Length);
    }

    [Theory]
    [MemberData(nameof(Names))]
    public async Task File_ThatIsASymbolicLink_IsRefusedAndNotFollowed(string name)
    {
        await MakeAsync();
        File.WriteAllText(Outside, "untouched");
        File.Delete(Path.Combine(Disk, name));
        File.CreateSymbolicLink(Path.Combine(Disk, name), Outside);

        string refusal = await RefusalAsync(Disk);

        Assert.StartsWith($"Option Cache:DiskPath: cannot use '{Disk}': '{name}' in it is a symbolic link", refusal, StringComparison.Ordinal);
        Assert.Equal("untouched", File.ReadAllText(Outside));
    }

    [Theory]
    [MemberData(nameof(Names))]
    public async Task File_ThatLinkLeadsToNothing_IsNotMade(string name)
    {
        Directory.CreateDirectory(Disk, Owner);
        File.CreateSymbolicLink(Path.Combine(Disk, name), Outside);

        Assert.Contains($"'{name}' in it is a symbolic link", await RefusalAsync(Disk), StringComparison.Ordinal);
        Assert.False(File.Exists(Outside));
    }

    [Theory]
    [MemberData(nameof(Names))]
    public async Task File_WithAnotherName_IsRefused(string name)
    {
        await MakeAsync();
        File.WriteAllText(Outside, "untouched");
        File.Delete(Path.Combine(Disk, name));
        Run("ln", Outside, Path.Combine(Disk, name));

        Assert.Contains($"'{name}' in it has another name elsewhere", await RefusalAsync(Disk), StringComparison.Ordinal);
        Assert.Equal("untouched", File.ReadAllText(Outside));
    }

    [Theory]
    [MemberData(nameof(Names))]
    public async Task File_ThatOthersMayWriteTo_IsRefused(string name)
    {
        await MakeAsync();
        File.SetUnixFileMode(Path.Combine(Disk, name), UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.OtherWrite);

        Assert.Contains($"'{name}' in it: its mode 602 lets others write to it", await RefusalAsync(Disk), StringComparison.Ordinal);
    }

    [Theory]
    [MemberData(nameof(Names))]
    public async Task File_OfAnotherUser_IsRefused(string name)
    {
        Assert.SkipUnless(Environment.IsPrivilegedProcess, "Only a privileged process may give a file away.");
        await MakeAsync();
        Run("chown", "12345", Path.Combine(Disk, name));

        Assert.Contains($"'{name}' in it: user 12345 owns it", await RefusalAsync(Disk), StringComparison.Ordinal);
    }

    [Theory]
    [MemberData(nameof(Names))]
    public async Task File_ThatIsNone_IsRefusedWithoutWaiting(string name)
    {
        Directory.CreateDirectory(Disk, Owner);
        Run("mkfifo", "-m", "600", Path.Combine(Disk, name));

        Assert.Contains($"'{name}' in it is no regular file", await RefusalAsync(Disk), StringComparison.Ordinal);
    }

    [Fact]
    public async Task Link_AmongSegmentsThatAreTooMany_IsDeletedAndNotFollowed()
    {
        await MakeAsync();
        File.WriteAllText(Outside, "untouched");
        File.CreateSymbolicLink(Path.Combine(Disk, "segment-00099"), Outside);

        await using TestService service = await StartAsync();

        Assert.Equal((4, "untouched"), (Directory.GetFiles(Disk, "segment-*").Length, File.ReadAllText(Outside)));
    }

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    private static void Run(string program, params string[] arguments)
    {
        using Process process = Process.Start(new ProcessStartInfo(program, arguments))!;
        Assert.True(process.WaitForExit(Patience.Limit));
        Assert.Equal(0, process.ExitCode);
    }

    private static string[] OptionsFor(string path) =>
        [$"--Cache:DiskPath={path}", "--Cache:DiskBytes=4MiB", "--Cache:DiskSegmentBytes=1MiB", "--Admin:Url=http://127.0.0.1:0", "--Cache:Origin=http://127.0.0.1:9"];

    private static async Task<string> RefusalAsync(string path)
    {
        OptionException refusal = await Assert.ThrowsAsync<OptionException>(
            () => CachingServiceHost.StartAsync(["--Urls=http://127.0.0.1:0", .. OptionsFor(path)]).WaitAsync(Patience.Limit));
        Assert.DoesNotContain('\n', refusal.Message);
        return refusal.Message;
    }

    private Task<TestService> StartAsync() => TestService.StartAsync("http://127.0.0.1:9", OptionsFor(Disk)[..3]);

    /// <summary>What a service leaves.</summary>
    private async Task MakeAsync()
    {
        await using TestService service = await StartAsync();
    }
}
