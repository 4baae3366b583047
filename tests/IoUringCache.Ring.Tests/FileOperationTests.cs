using IoUringCache.Ring.Files;
using IoUringCache.Ring.Native;
using IoUringCache.Ring.Tests.Support;
using Microsoft.Win32.SafeHandles;

namespace IoUringCache.Ring.Tests;

/// <summary>Files are read and written at offsets, through the page cache and past it.</summary>
public sealed class FileOperationTests : RingTest, IDisposable
{
    private const int Block = 4096;

    private readonly string _path = Path.GetTempFileName();
    private readonly SafeFileHandle _file;

    public FileOperationTests() => _file = File.OpenHandle(_path, FileMode.Open, FileAccess.ReadWrite);

    public void Dispose()
    {
        _file.Dispose();
        File.Delete(_path);
    }

    [Fact]
    public void Write_AtAPlace_IsReadFromThere()
    {
        using KernelRing ring = CreateRing();
        byte[] written = PinnedPattern(10_000, seed: 1);
        ring.Submissions.PrepareWrite(_file, written, offset: 5_000, Tag(1));
        Assert.Equal(10_000, ReapOne(ring).Result);

        byte[] read = PinnedPattern(1_000, seed: 2);
        ring.Submissions.PrepareRead(_file, read, offset: 6_000, Tag(2));

        Assert.Equal((1_000, Tag(2)), Outcome(ReapOne(ring)));
        Assert.Equal(written.AsSpan(1_000, 1_000).ToArray(), read);
        Assert.Equal(written, File.ReadAllBytes(_path)[5_000..]);
    }

    [Fact]
    public void Read_AcrossTheEndAndBehindIt_IsShort()
    {
        using KernelRing ring = CreateRing();
        RandomAccess.Write(_file, new byte[100], 0);
        byte[] read = PinnedPattern(50, seed: 1);

        ring.Submissions.PrepareRead(_file, read, offset: 80, Tag(1));
        Assert.Equal(20, ReapOne(ring).Result);
        ring.Submissions.PrepareRead(_file, read, offset: 100, Tag(1));
        Assert.Equal(0, ReapOne(ring).Result);
    }

    [Fact]
    public void ReadFixed_IntoRegisteredMemory_FillsItAndNothingElseIsTaken()
    {
        using KernelRing ring = CreateRing();
        byte[] written = PinnedPattern(Block, seed: 1);
        RandomAccess.Write(_file, written, 0);
        byte[][] pieces = [PinnedPattern(Block, seed: 2), PinnedPattern(Block, seed: 3)];
        ring.RegisterMemory([pieces[0], pieces[1]]);

        ring.Submissions.PrepareReadFixed(_file, pieces[1], piece: 1, offset: 0, Tag(1));
        Assert.Equal(Block, ReapOne(ring).Result);
        Assert.Equal(written, pieces[1]);

        ring.Submissions.PrepareReadFixed(_file, pieces[1], piece: 0, offset: 0, Tag(1));
        Assert.Equal(Errno.EFAULT, ReapOne(ring).Error);
        ring.Submissions.PrepareReadFixed(_file, pieces[1], piece: 2, offset: 0, Tag(1));
        Assert.Equal(Errno.EFAULT, ReapOne(ring).Error);
        Assert.Equal(Errno.EBUSY, Assert.Throws<IoUringException>(() => ring.RegisterMemory([pieces[0]])).Error);
    }

    [Fact]
    public void RegisterMemory_RefusedByTheKernel_SaysWhatWasRefused()
    {
        FakeKernel kernel = new() { OnRegister = opcode => opcode == RegisterOpcode.Buffers ? FakeKernel.Failure(Errno.ENOMEM) : null };
        using KernelRing ring = KernelRing.Create(kernel, Options(64, 256));

        IoUringException failure = Assert.Throws<IoUringException>(() => ring.RegisterMemory([new byte[1]]));

        Assert.Equal(Errno.ENOMEM, failure.Error);
        Assert.Contains("io_uring_register of memory", failure.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void DirectIo_Enabled_TakesAlignedBlocksOnly()
    {
        using KernelRing ring = CreateRing();
        byte[] written = PinnedPattern(2 * Block, seed: 1);
        RandomAccess.Write(_file, written, 0);
        Assert.SkipUnless(DirectIo.TryEnable(_file), "This file system has no O_DIRECT.");
        using FileMemory memory = FileMemory.Create("test", 2 * Block);

        ring.Submissions.PrepareRead(_file, memory.Memory[..Block], offset: Block, Tag(1));
        Assert.Equal(Block, ReapOne(ring).Result);
        Assert.Equal(written.AsSpan(Block).ToArray(), memory.Memory[..Block].ToArray());

        ring.Submissions.PrepareRead(_file, memory.Memory.Slice(1, Block), offset: 1, Tag(1));

        // A file system in memory has no alignment.
        bool isMemory = new DriveInfo(_path).DriveFormat is "tmpfs" or "ramfs" or "rootfs";
        Assert.Equal(isMemory ? default : Errno.EINVAL, ReapOne(ring).Error);
    }

    [Fact]
    public void PollingRing_AskedForAnEvent_RefusesIt()
    {
        using KernelRing ring = KernelRing.Create(new RingOptions { PollsDevice = true });
        using EventDescriptor signal = EventDescriptor.Create();

        ring.Submissions.PrepareReadEvent(signal, Tag(1));

        Assert.Contains(ReapOne(ring).Error, new[] { Errno.EINVAL, Errno.EOPNOTSUPP });
    }

    [Fact]
    public void Operations_WithBadArguments_NameThem()
    {
        using KernelRing ring = CreateRing();
        byte[] memory = PinnedPattern(1, seed: 1);
        Assert.Throws<ArgumentNullException>("file", () => ring.Submissions.PrepareRead(null!, memory, 0, Tag(1)));
        Assert.Throws<ArgumentOutOfRangeException>("offset", () => ring.Submissions.PrepareWrite(_file, memory, -1, Tag(1)));
        Assert.Throws<ArgumentOutOfRangeException>("pinned", () => ring.RegisterMemory([]));
        Assert.Throws<ArgumentNullException>("file", () => DirectIo.TryEnable(null!));
        _file.Dispose();
        Assert.Throws<ObjectDisposedException>(() => ring.Submissions.PrepareRead(_file, memory, 0, Tag(1)));
        Assert.Throws<ObjectDisposedException>(() => DirectIo.TryEnable(_file));
        Assert.Equal(0, ring.Submissions.PendingCount);
    }

    private static (int Result, UserData UserData) Outcome(Completion completion) => (completion.Result, completion.UserData);
}
