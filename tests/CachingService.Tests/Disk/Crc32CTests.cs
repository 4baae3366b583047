using System.Text;
using IoUringCache.Caching.Disk;

namespace CachingService.Tests.Disk;

public sealed class Crc32CTests
{
    /// <summary>RFC 3720 B.4, and the value that every catalogue of checksums has for nine digits.</summary>
    [Theory]
    [InlineData("", 0u)]
    [InlineData("123456789", 0xE306_9283u)]
    public void Checksum_OfAKnownText_IsTheKnownOne(string text, uint expected) => Assert.Equal(expected, Crc32C.Of(Encoding.ASCII.GetBytes(text)));

    [Fact]
    public void Checksum_Of32Zeros_IsTheKnownOne() => Assert.Equal(0x8A91_36AAu, Crc32C.Of(new byte[32]));
}
