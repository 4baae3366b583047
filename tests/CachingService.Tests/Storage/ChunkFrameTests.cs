using System.Text;
using IoUringCache.Caching.Storage;

namespace CachingService.Tests.Storage;

/// <summary>The chunked coding as it lies in memory.</summary>
public sealed class ChunkFrameTests
{
    [Theory]
    [InlineData(1, "0001\r\n")]
    [InlineData(10, "000a\r\n")]
    [InlineData(4_096, "1000\r\n")]
    [InlineData(65_535, "ffff\r\n")]
    public void Frame_Closed_IsAChunkAndGivesItsBytesBack(int count, string sizeLine)
    {
        byte[] memory = new byte[count + ChunkFrame.Overhead + 3];
        Array.Fill(memory, (byte)'x');
        ChunkFrame.Close(memory.AsSpan(0, count + ChunkFrame.Overhead));

        Assert.Equal(sizeLine + new string('x', count) + "\r\nxxx", Encoding.Latin1.GetString(memory));
        Assert.Equal(memory.AsMemory(6, count), ChunkFrame.BytesOfFirst(memory));
    }

    [Theory]
    [InlineData(0)]
    [InlineData(65_536)]
    public void Frame_OfNothingOrTooMuch_IsRefused(int count) =>
        Assert.Throws<ArgumentOutOfRangeException>(() => ChunkFrame.Close(new byte[count + ChunkFrame.Overhead]));
}
