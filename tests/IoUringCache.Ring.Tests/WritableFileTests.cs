using System.Diagnostics;
using System.Text;
using IoUringCache.Ring.Files;
using IoUringCache.Ring.Tests.Support;
using Microsoft.Win32.SafeHandles;

namespace IoUringCache.Ring.Tests;

/// <summary>Files are created, written, locked and deleted beneath a directory, through no symbolic link.</summary>
public sealed class WritableFileTests : RingTest, IDisposable
{
    private const UnixFileMode OwnerAlone = UnixFileMode.UserRead | UnixFileMode.UserWrite;

    private readonly string _folder = Directory.CreateTempSubdirectory("iouring-writable-").FullName;
    private readonly DirectoryDescriptor _directory;

    public WritableFileTests()
    {
        Directory.CreateDirectory(PathOf("outside"));
        Directory.CreateDirectory(PathOf("d/sub"));
        _directory = DirectoryDescriptor.Open(Encoding.UTF8.GetBytes(PathOf("d")));
    }

    [Fact]
    public void File_ThatIsMissing_IsMadeForItsOwnerAlone()
    {
        Assert.Equal(Errno.None, _directory.TryOpenFileForWriting("a"u8, out SafeFileHandle? file));

        using (file)
        {
            RandomAccess.Write(file!, "hello"u8, 0);
            FileStatus status = FileStatus.Of(file!);
            Assert.Equal(
                (true, 5L, OwnerAlone, 1, FileStatus.ProcessUserId),
                (status.IsRegularFile, status.Length, status.Permissions, status.LinkCount, status.OwnerId));
        }

        Assert.Equal("hello", File.ReadAllText(PathOf("d/a")));
    }

    [Fact]
    public void File_ThatIsThere_KeepsContentAndRights()
    {
        File.WriteAllText(PathOf("d/sub/a"), "hello");
        File.SetUnixFileMode(PathOf("d/sub/a"), OwnerAlone | UnixFileMode.OtherRead);

        Assert.Equal(Errno.None, _directory.TryOpenFileForWriting("sub/a"u8, out SafeFileHandle? file));

        using (file)
        {
            Assert.Equal((5L, OwnerAlone | UnixFileMode.OtherRead), (FileStatus.Of(file!).Length, FileStatus.Of(file!).Permissions));
        }
    }

    [Theory]
    [InlineData("link", Errno.ELOOP)]
    [InlineData("dangling", Errno.ELOOP)]
    [InlineData("within", Errno.ELOOP)]
    [InlineData("directory/a", Errno.ELOOP)]
    [InlineData("../outside/a", Errno.EXDEV)]
    [InlineData("/etc/passwd", Errno.EXDEV)]
    [InlineData("sub", Errno.EISDIR)]
    [InlineData("missing/a", Errno.ENOENT)]
    public void Name_OfEachKind_IsRefusedByTheKernelsWord(string name, Errno expected)
    {
        File.WriteAllText(PathOf("outside/a"), "untouched");
        Link("link", "../outside/a");
        Link("dangling", "../outside/b");
        Link("within", "sub/a");
        Link("directory", "../outside");

        Assert.Equal(expected, _directory.TryOpenFileForWriting(Encoding.UTF8.GetBytes(name), out SafeFileHandle? file));

        Assert.Null(file);
        Assert.Equal("untouched", File.ReadAllText(PathOf("outside/a")));
        Assert.False(File.Exists(PathOf("outside/b")));
    }

    [Fact]
    public async Task Fifo_ThatNobodyReads_IsOpenedWithoutWaiting()
    {
        using Process shell = Process.Start(new ProcessStartInfo("mkfifo", [PathOf("d/fifo")]))!;
        Assert.True(shell.WaitForExit(Patience));

        bool isRegular = await Task.Run(() =>
        {
            Assert.Equal(Errno.None, _directory.TryOpenFileForWriting("fifo"u8, out SafeFileHandle? file));
            using (file)
            {
                return FileStatus.Of(file!).IsRegularFile;
            }
        }).WaitAsync(Patience, TestContext.Current.CancellationToken);

        Assert.False(isRegular);
    }

    [Fact]
    public void Link_ToAFile_IsCountedUntilItIsDeleted()
    {
        Assert.Equal(Errno.None, _directory.TryOpenFileForWriting("a"u8, out SafeFileHandle? file));
        using (file)
        {
            using Process shell = Process.Start(new ProcessStartInfo("ln", [PathOf("d/a"), PathOf("outside/a")]))!;
            Assert.True(shell.WaitForExit(Patience));
            Assert.Equal(2, FileStatus.Of(file!).LinkCount);
            Assert.Equal(Errno.None, _directory.TryDeleteFile("a"u8));
            Assert.Equal(1, FileStatus.Of(file!).LinkCount);
        }
    }

    [Fact]
    public void Delete_OfALink_LeavesWhatItLeadsTo()
    {
        File.WriteAllText(PathOf("outside/a"), "untouched");
        Link("link", "../outside/a");

        Assert.Equal(Errno.None, _directory.TryDeleteFile("link"u8));

        Assert.Equal((false, "untouched"), (Path.Exists(PathOf("d/link")), File.ReadAllText(PathOf("outside/a"))));
        Assert.Equal(Errno.ENOENT, _directory.TryDeleteFile("link"u8));
        Assert.Equal(Errno.EISDIR, _directory.TryDeleteFile("sub"u8));
        Assert.Equal(Errno.ENAMETOOLONG, _directory.TryDeleteFile(new byte[5000].AsSpan()));
        Assert.Throws<ArgumentException>(() => _directory.TryDeleteFile("sub/a"u8));
        Assert.Throws<ArgumentException>(() => _directory.TryDeleteFile("a\0b"u8));
    }

    [Fact]
    public void Lock_OfAnotherOpening_IsRefusedUntilThatIsClosed()
    {
        _directory.TryOpenFileForWriting("a"u8, out SafeFileHandle? first);
        _directory.TryOpenFileForWriting("a"u8, out SafeFileHandle? second);
        using (second)
        {
            using (first)
            {
                Assert.Equal((Errno.None, Errno.None), (FileLock.TryAcquire(first!), FileLock.TryAcquire(first!)));
                Assert.Equal(Errno.EAGAIN, FileLock.TryAcquire(second!));
            }

            Assert.Equal(Errno.None, FileLock.TryAcquire(second!));
        }

        Assert.Throws<ObjectDisposedException>(() => FileLock.TryAcquire(second!));
    }

    [Fact]
    public void Lock_ThatIsReleased_IsFreeWhileTheFileIsOpen()
    {
        _directory.TryOpenFileForWriting("a"u8, out SafeFileHandle? first);
        _directory.TryOpenFileForWriting("a"u8, out SafeFileHandle? second);
        using (first)
        using (second)
        {
            FileLock.Release(first!);
            Assert.Equal(Errno.None, FileLock.TryAcquire(first!));

            FileLock.Release(first!);

            Assert.Equal(Errno.None, FileLock.TryAcquire(second!));
        }

        Assert.Throws<ObjectDisposedException>(() => FileLock.Release(second!));
    }

    [Fact]
    public void Space_IsReservedAndReadsAsZeros()
    {
        _directory.TryOpenFileForWriting("a"u8, out SafeFileHandle? file);
        using (file)
        {
            RandomAccess.Write(file!, "hello"u8, 0);

            Assert.Equal(Errno.None, FileSpace.TryAllocate(file!, 8192));

            byte[] bytes = new byte[10_000];
            Assert.Equal(8192, RandomAccess.Read(file!, bytes, 0));
            Assert.Equal("hello", Encoding.ASCII.GetString(bytes).TrimEnd('\0'));
            Assert.Contains(FileSpace.TryAllocate(file!, long.MaxValue), (Errno[])[Errno.EFBIG, Errno.ENOSPC, Errno.EINVAL]);
            Assert.Throws<ArgumentOutOfRangeException>(() => FileSpace.TryAllocate(file!, 0));
        }
    }

    public void Dispose()
    {
        _directory.Dispose();
        Directory.Delete(_folder, recursive: true);
    }

    private string PathOf(string name) => Path.Combine(_folder, name);

    private void Link(string name, string target) => File.CreateSymbolicLink(PathOf("d/" + name), target);
}
