using IoUringCache.Caching.Http;

namespace CachingService.Tests.Http;

/// <summary>What the weights of Accept-Encoding are (RFC 9110 12.4.2, 12.5.3).</summary>
public sealed class CodingWeightsTests
{
    [Theory]
    [InlineData(null, 0, 0, 0, 1)]
    [InlineData("", 0, 0, 0, 1)]
    [InlineData("gzip, br", 1000, 1000, 0, 1)]
    [InlineData("gzip;q=0.5, br;q=0.125", 125, 500, 0, 1)]
    [InlineData("gzip;q=0.001", 0, 1, 0, 1)]
    [InlineData("gzip;q=0", 0, 0, 0, 1)]
    [InlineData("*", 1000, 1000, 1000, 1000)]
    [InlineData("*;q=0.3, gzip", 300, 1000, 300, 300)]
    [InlineData("*;q=0", 0, 0, 0, 0)]
    [InlineData("identity;q=0.7, *;q=0.2", 200, 200, 200, 700)]
    [InlineData("identity;q=0", 0, 0, 0, 0)]
    [InlineData("gzip;q=0.9, gzip;q=0.4", 0, 400, 0, 1)]
    [InlineData("x-gzip;q=0.4, GZIP", 0, 400, 0, 1)]
    [InlineData("gzip;q=1.001, br;q=-1", 0, 0, 0, 1)]
    [InlineData("gzip;q=x, br;level=1", 0, 0, 0, 1)]
    [InlineData("ZSTD;q=0.5, *;q=0.1, zstd", 100, 100, 500, 100)]
    [InlineData("zstd;q=0, *", 1000, 1000, 0, 1000)]
    public void Field_InAnySpelling_HasItsWeights(string? field, int brotli, int gzip, int zstandard, int identity) =>
        Assert.Equal(new CodingWeights(brotli, gzip, zstandard, identity), CodingWeights.Parse(field));
}
