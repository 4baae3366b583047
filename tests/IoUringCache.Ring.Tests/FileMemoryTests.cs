using System.Buffers;
using System.Globalization;
using IoUringCache.Ring.Files;
using IoUringCache.Ring.Tests.Support;
using Microsoft.Win32.SafeHandles;

namespace IoUringCache.Ring.Tests;

/// <summary>Memory and file are the same bytes, as long as either is referenced.</summary>
public sealed class FileMemoryTests : RingTest
{
    private const int HugePage = 2 * 1024 * 1024;

    [Theory]
    [InlineData(1)]
    [InlineData(4096)]
    [InlineData(1_345_292)]
    [InlineData(4 * 1024 * 1024)]
    public void Memory_WrittenTo_IsReadFromTheFile(int length)
    {
        byte[] pattern = PinnedPattern(length, seed: 1);
        using FileMemory memory = FileMemory.Create("test", length);
        Assert.Equal(length, memory.Memory.Length);
        Assert.Equal(-1, memory.Memory.Span.IndexOfAnyExcept((byte)0));

        pattern.CopyTo(memory.Memory);

        byte[] read = new byte[length];
        Assert.Equal(length, RandomAccess.Read(memory.File, read, 0));
        Assert.Equal(pattern, read);
    }

    [Theory]
    [InlineData(HugePage / 8 * 5, HugePage)]
    [InlineData(HugePage, HugePage)]
    [InlineData((3 * HugePage) - 1, 3 * HugePage)]
    public void Memory_ThatFillsHugePages_LiesInThem(int length, int capacity)
    {
        using FileMemory memory = FileMemory.Create("test-huge", length);

        // The file keeps the memory's length where the kernel had none to give.
        Assert.SkipWhen(Environment.OSVersion.Version < new Version(6, 1), "This kernel makes no huge pages on demand.");
        Assert.SkipWhen(length != capacity && RandomAccess.GetLength(memory.File) == length, "No huge page is free.");
        memory.Memory.Span.Fill(1);
        Assert.Equal(capacity, RandomAccess.GetLength(memory.File));
        Assert.Equal(capacity, HugeBytesOf("memfd:test-huge"));
    }

    [Theory]
    [InlineData((HugePage / 8 * 5) - 1)]
    [InlineData(HugePage + 1)]
    public void Memory_ThatWouldWasteHugePages_HasNone(int length)
    {
        using FileMemory memory = FileMemory.Create("test-small", length);

        memory.Memory.Span.Fill(1);
        Assert.Equal(length, RandomAccess.GetLength(memory.File));
        Assert.Equal(0, HugeBytesOf("memfd:test-small"));
    }

    [Fact]
    public void Pin_OutlivesTheDispose()
    {
        byte[] pattern = PinnedPattern(10_000, seed: 2);
        FileMemory memory = FileMemory.Create("test-pin", pattern.Length);
        pattern.CopyTo(memory.Memory);
        ReadOnlyMemory<byte> part = memory.Memory[5000..];
        MemoryHandle pin = part.Pin();

        ((IDisposable)memory).Dispose();

        Assert.Throws<ObjectDisposedException>(() => part.Span.Length);
        Assert.True(IsMapped("memfd:test-pin"));
        pin.Dispose();
        Assert.False(IsMapped("memfd:test-pin"));
        Assert.Throws<ObjectDisposedException>(() => part.Pin());
    }

    [Fact]
    public void TryFind_OfAPart_GivesTheWholeAndWhereItBegins()
    {
        using FileMemory memory = FileMemory.Create("test", 1000);
        ReadOnlyMemory<byte> part = memory.Memory[100..500][20..];

        Assert.True(FileMemory.TryFind(part, out FileMemory? owner, out int offset));

        Assert.Equal((memory, 120), (owner, offset));
        Assert.False(FileMemory.TryFind(new byte[10], out owner, out _));
        Assert.Null(owner);
    }

    [Fact]
    public void Dispose_Twice_IsOnce()
    {
        IDisposable memory = FileMemory.Create("test-twice", 100);
        memory.Dispose();
        memory.Dispose();
        Assert.False(IsMapped("memfd:test-twice"));
    }

    [Fact]
    public void Create_WithBadArguments_NamesThem()
    {
        Assert.Throws<ArgumentOutOfRangeException>("length", () => FileMemory.Create("test", 0));
        Assert.Throws<ArgumentOutOfRangeException>("name", () => FileMemory.Create(new string('x', 250), 1));
        Assert.Throws<ArgumentNullException>("name", () => FileMemory.Create(null!, 1));
    }

    [Theory]
    [InlineData(0, 10, "0123456789")]
    [InlineData(3, 4, "3456")]
    [InlineData(8, 10, "89")]
    [InlineData(10, 1, "")]
    [InlineData(1L << 40, 1, "")]
    public void PageCache_OfAFileJustWritten_IsReadWithoutWaiting(long offset, int length, string expected)
    {
        string path = Path.GetTempFileName();
        try
        {
            File.WriteAllText(path, "0123456789");
            using SafeFileHandle file = File.OpenHandle(path);
            byte[] buffer = new byte[length];

            int count = PageCache.TryRead(file, offset, buffer);

            Assert.SkipWhen(count < 0, "This file system has no reads that do not wait.");
            Assert.Equal(expected, System.Text.Encoding.ASCII.GetString(buffer, 0, count));
        }
        finally
        {
            File.Delete(path);
        }
    }

    [Fact]
    public void PageCache_OfWhatCannotBeReadSo_LeavesItToOthers()
    {
        using SafeFileHandle notOpen = new((nint)int.MaxValue, ownsHandle: false);
        using SafeFileHandle writeOnly = File.OpenHandle("/dev/null", FileMode.Open, FileAccess.Write);

        Assert.Equal(-1, PageCache.TryRead(notOpen, 0, new byte[1]));
        Assert.Equal(-1, PageCache.TryRead(writeOnly, 0, new byte[1]));
        Assert.Throws<ArgumentOutOfRangeException>(() => PageCache.TryRead(writeOnly, -1, new byte[1]));
        Assert.Throws<ArgumentOutOfRangeException>(() => PageCache.TryRead(writeOnly, 0, default));
    }

    [Fact]
    public void PageCache_OfWrittenAndUnwrittenPages_KnowsWhich()
    {
        Assert.SkipWhen(Environment.OSVersion.Version < new Version(6, 5), "This kernel has no cachestat.");
        using FileMemory memory = FileMemory.Create("test", 10 * Environment.SystemPageSize);
        Assert.False(PageCache.Contains(memory.File, 0, 1));
        memory.Memory.Span[..(3 * Environment.SystemPageSize)].Fill(1);

        Assert.True(PageCache.Contains(memory.File, 0, 1));
        Assert.True(PageCache.Contains(memory.File, 0, 3 * Environment.SystemPageSize));
        Assert.True(PageCache.Contains(memory.File, (3 * Environment.SystemPageSize) - 1, 1));
        Assert.False(PageCache.Contains(memory.File, (3 * Environment.SystemPageSize) - 1, 2));
        Assert.False(PageCache.Contains(memory.File, 0, 10 * Environment.SystemPageSize));
    }

    /// <summary>Of a mapping, as the kernel tells it.</summary>
    private static int HugeBytesOf(string name)
    {
        const string Field = "ShmemPmdMapped:";
        string line = File.ReadLines("/proc/self/smaps").SkipWhile(each => !each.Contains(name, StringComparison.Ordinal))
            .First(each => each.StartsWith(Field, StringComparison.Ordinal));
        return 1024 * int.Parse(line[Field.Length..^"kB".Length], NumberStyles.AllowLeadingWhite | NumberStyles.AllowTrailingWhite, CultureInfo.InvariantCulture);
    }

    private static bool IsMapped(string name) => File.ReadLines("/proc/self/maps").Any(line => line.Contains(name, StringComparison.Ordinal));
}
