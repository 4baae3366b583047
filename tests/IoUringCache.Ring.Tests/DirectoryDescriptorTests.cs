using System.Diagnostics;
using System.Net.Sockets;
using System.Text;
using IoUringCache.Ring.Files;
using IoUringCache.Ring.Tests.Support;
using Microsoft.Win32.SafeHandles;

namespace IoUringCache.Ring.Tests;

/// <summary>Files are opened beneath a directory and nowhere else, and their status is read.</summary>
public sealed class DirectoryDescriptorTests : RingTest, IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("iouring-directory-").FullName;

    [Fact]
    public void File_BeneathTheDirectory_IsOpenedWithItsStatus()
    {
        string path = Make("sub/a", "hello");
        DateTime modified = new(2020, 2, 3, 4, 5, 6, DateTimeKind.Utc);
        File.SetLastWriteTimeUtc(path, modified.AddTicks(1234567));
        using DirectoryDescriptor directory = Open();

        Assert.Equal(Errno.None, directory.TryOpenFile("sub/a"u8, out SafeFileHandle? file));

        using (file)
        {
            FileStatus status = FileStatus.Of(file!);
            Assert.Equal((true, false, 5L), (status.IsRegularFile, status.IsDirectory, status.Length));
            Assert.Equal(new DateTimeOffset(modified).ToUnixTimeSeconds(), status.ModifiedSeconds);
            Assert.Equal(123_456_700, status.ModifiedNanoseconds);
            byte[] bytes = new byte[10];
            Assert.Equal("hello", Encoding.ASCII.GetString(bytes, 0, RandomAccess.Read(file!, bytes, 0)));
        }
    }

    [Fact]
    public void Inode_OfAnotherFileByTheSameName_IsAnother()
    {
        Make("a", "one");
        using DirectoryDescriptor directory = Open();
        directory.TryOpenFile("a"u8, out SafeFileHandle? first);
        File.Move(Make("b", "two"), Path.Combine(_folder, "a"), overwrite: true);
        directory.TryOpenFile("a"u8, out SafeFileHandle? second);

        using (first)
        using (second)
        {
            Assert.NotEqual(FileStatus.Of(first!).Inode, FileStatus.Of(second!).Inode);
            Assert.Equal(FileStatus.Of(first!), FileStatus.Of(first!));
        }
    }

    [Theory]
    [InlineData("missing", Errno.ENOENT)]
    [InlineData("", Errno.ENOENT)]
    [InlineData("a/b", Errno.ENOTDIR)]
    [InlineData("..", Errno.EXDEV)]
    [InlineData("sub/../../a", Errno.EXDEV)]
    [InlineData("/etc/passwd", Errno.EXDEV)]
    [InlineData("absolute", Errno.EXDEV)]
    [InlineData("up", Errno.EXDEV)]
    [InlineData("loop", Errno.ELOOP)]
    [InlineData("within", Errno.None)]
    [InlineData("sub", Errno.None)]
    [InlineData("sub/../a", Errno.None)]
    public void Name_OfEachKind_IsResolvedBeneathOrRefused(string name, Errno expected)
    {
        Make("a", "inside");
        Directory.CreateDirectory(Path.Combine(_folder, "sub"));
        Link("absolute", "/etc/passwd");
        Link("up", "../../etc/passwd");
        Link("loop", "loop");
        Link("within", "sub/../a");
        using DirectoryDescriptor directory = Open();

        Assert.Equal(expected, directory.TryOpenFile(Encoding.UTF8.GetBytes(name), out SafeFileHandle? file));

        Assert.Equal(expected == Errno.None, file is not null);
        file?.Dispose();
    }

    [Theory]
    [InlineData(4095, Errno.ENAMETOOLONG)]
    [InlineData(4096, Errno.ENAMETOOLONG)]
    [InlineData(100_000, Errno.ENAMETOOLONG)]
    [InlineData(255, Errno.ENOENT)]
    public void Name_OfEachLength_IsAskedForOrTooLong(int length, Errno expected)
    {
        using DirectoryDescriptor directory = Open();

        Assert.Equal(expected, directory.TryOpenFile(Encoding.ASCII.GetBytes(new string('a', length)), out _));
    }

    [Fact]
    public void Name_WithAZero_IsRefused()
    {
        using DirectoryDescriptor directory = Open();

        Assert.Throws<ArgumentException>(() => directory.TryOpenFile("a\0b"u8, out _));
        Assert.Throws<ArgumentException>(() => DirectoryDescriptor.Open("/tmp\0/x"u8));
    }

    [Fact]
    public async Task Fifo_ThatNobodyWritesTo_IsOpenedWithoutWaiting()
    {
        Shell("mkfifo fifo");
        using DirectoryDescriptor directory = Open();

        Errno error = await Task.Run(() => directory.TryOpenFile("fifo"u8, out SafeFileHandle? file) switch
        {
            Errno.None when !FileStatus.Of(file!).IsRegularFile => Errno.None,
            Errno.None => Errno.EEXIST,
            var refusal => refusal,
        }).WaitAsync(Patience, TestContext.Current.CancellationToken);

        Assert.Equal(Errno.None, error);
    }

    [Fact]
    public void Socket_IsNoFile()
    {
        using Socket socket = new(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        socket.Bind(new UnixDomainSocketEndPoint(Path.Combine(_folder, "socket")));
        using DirectoryDescriptor directory = Open();

        Assert.Equal(Errno.ENXIO, directory.TryOpenFile("socket"u8, out _));
    }

    [Fact]
    public void Name_ThatIsNotUtf8_IsItsBytes()
    {
        byte[] name = [0xFF, 0xFE, (byte)'a'];
        Shell("printf raw > \"$(printf '\\377\\376a')\"");
        using DirectoryDescriptor directory = Open();

        Assert.Equal(Errno.None, directory.TryOpenFile(name, out SafeFileHandle? file));
        file!.Dispose();

        // The base library has no name for it, so it cannot delete it.
        Shell("rm -- *");
    }

    [Theory]
    [InlineData("/there/is/none", Errno.ENOENT)]
    [InlineData("/dev/null", Errno.ENOTDIR)]
    [InlineData("/dev/null/x", Errno.ENOTDIR)]
    public void Directory_ThatIsNone_IsRefusedByTheKernelsWord(string path, Errno expected) =>
        Assert.Equal(expected, Assert.Throws<IoUringException>(() => DirectoryDescriptor.Open(Encoding.UTF8.GetBytes(path))).Error);

    [Fact]
    public void Directory_ReplacedByName_StaysTheOneThatWasOpened()
    {
        Make("d/a", "old");
        using DirectoryDescriptor directory = DirectoryDescriptor.Open(Encoding.UTF8.GetBytes(Path.Combine(_folder, "d")));
        Directory.Move(Path.Combine(_folder, "d"), Path.Combine(_folder, "e"));
        Make("d/b", "new");

        Assert.Equal(Errno.ENOENT, directory.TryOpenFile("b"u8, out _));
        Assert.Equal(Errno.None, directory.TryOpenFile("a"u8, out SafeFileHandle? file));
        file!.Dispose();
    }

    [Fact]
    public void Directory_Closed_OpensNothing()
    {
        DirectoryDescriptor directory = Open();
        directory.Dispose();

        Assert.Throws<ObjectDisposedException>(() => directory.TryOpenFile("a"u8, out _));
    }

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    private DirectoryDescriptor Open() => DirectoryDescriptor.Open(Encoding.UTF8.GetBytes(_folder));

    private string Make(string name, string content)
    {
        string path = Path.Combine(_folder, name);
        Directory.CreateDirectory(Path.GetDirectoryName(path)!);
        File.WriteAllText(path, content);
        return path;
    }

    private void Link(string name, string target) => File.CreateSymbolicLink(Path.Combine(_folder, name), target);

    /// <summary>Runs a command in the folder, for what the base library has no call.</summary>
    private void Shell(string command)
    {
        using Process shell = Process.Start(new ProcessStartInfo("sh", ["-c", command]) { WorkingDirectory = _folder })!;
        Assert.True(shell.WaitForExit(Patience));
        Assert.Equal(0, shell.ExitCode);
    }
}
