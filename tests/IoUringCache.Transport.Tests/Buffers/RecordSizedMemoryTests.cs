using System.Buffers;
using IoUringCache.Transport.Internal.Hosting;
using IoUringCache.Transport.Tests.Support;

namespace IoUringCache.Transport.Tests.Buffers;

/// <summary>Whose the blocks of TLS are, how many are kept, and until when.</summary>
public sealed class RecordSizedMemoryTests : IDisposable
{
    private readonly ManualTime _time = new();
    private readonly RecordSizedMemory _memory;

    public RecordSizedMemoryTests() => _memory = new(_time);

    public void Dispose() => _memory.Dispose();

    [Theory]
    [InlineData(-1, RecordSizedMemory.BlockLength)]
    [InlineData(0, RecordSizedMemory.BlockLength)]
    [InlineData(RecordSizedMemory.BlockLength, RecordSizedMemory.BlockLength)]
    [InlineData(RecordSizedMemory.BlockLength + 1, 2 * RecordSizedMemory.BlockLength)]
    public void Rent_GivesABlock_OrMoreWhereMoreIsWanted(int wanted, int given)
    {
        using IMemoryOwner<byte> block = _memory.Rent(wanted);

        Assert.Equal(given, block.Memory.Length);
    }

    [Fact]
    public void Block_ThatCameBack_IsTheNext_ForItsNewOwnerAlone()
    {
        IMemoryOwner<byte> first = _memory.Rent();
        Memory<byte> bytes = first.Memory;
        first.Dispose();
        using IMemoryOwner<byte> second = _memory.Rent();
        Assert.True(bytes.Equals(second.Memory));

        // Too late: it is another's by now.
        first.Dispose();
        Assert.Throws<ObjectDisposedException>(() => first.Memory);
        using IMemoryOwner<byte> third = _memory.Rent();
        Assert.False(bytes.Equals(third.Memory));
    }

    [Fact]
    public void Blocks_OverTheLimit_AreNotKept()
    {
        Use(RecordSizedMemory.MaxKept + 1);

        Assert.Equal(RecordSizedMemory.MaxKept, _memory.KeptCount);
    }

    [Fact]
    public void Blocks_UnusedForAnInterval_Go()
    {
        Use(10);
        _time.PassPeriod();
        Assert.Equal(10, _memory.KeptCount);
        Use(3);
        _time.PassPeriod();
        Assert.Equal(3, _memory.KeptCount);
        _time.PassPeriod();
        Assert.Equal(0, _memory.KeptCount);
    }

    [Fact]
    public void End_LeavesNoTimer_AndWhatIsRentedToItsOwner()
    {
        IMemoryOwner<byte> block = _memory.Rent();
        _memory.Dispose();

        Assert.Equal((0, RecordSizedMemory.BlockLength), (_time.TimerCount, block.Memory.Length));
        block.Dispose();
    }

    private void Use(int count)
    {
        IMemoryOwner<byte>[] blocks = [.. Enumerable.Range(0, count).Select(_ => _memory.Rent())];
        Array.ForEach(blocks, static block => block.Dispose());
    }
}
