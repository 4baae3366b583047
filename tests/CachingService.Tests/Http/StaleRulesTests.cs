using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Http;

namespace CachingService.Tests.Http;

/// <summary>Category stale: how long a response may be used after its lifetime, as rules without I/O.</summary>
public sealed class StaleRulesTests
{
    private static readonly string[] s_options = ["Cache:KeepStale=100s", "Cache:StaleWhileRevalidate=7s", "Cache:StaleIfError=8s"];

    [Theory]
    [InlineData("Cache-Control: max-age=10", 7, 8, 8)]
    [InlineData("Cache-Control: max-age=10, stale-while-revalidate=20", 20, 8, 20)]
    [InlineData("Cache-Control: max-age=10, stale-if-error=\"30\"", 7, 30, 30)]
    [InlineData("Cache-Control: max-age=10, stale-if-error=30, STALE-IF-ERROR=20", 7, 20, 20)]
    [InlineData("Cache-Control: max-age=10, stale-if-error=x, stale-while-revalidate", 0, 0, 0)]
    [InlineData("CDN-Cache-Control: max-age=10, stale-while-revalidate=20, stale-if-error=\"30\"", 20, 0, 20)]
    [InlineData("CDN-Cache-Control: max-age=10\r\nCache-Control: stale-while-revalidate=20", 7, 8, 8)]
    [InlineData("Cache-Control: max-age=10, must-revalidate", 0, 0, 0)]
    [InlineData("Cache-Control: max-age=10, proxy-revalidate", 0, 0, 0)]
    [InlineData("Cache-Control: s-maxage=10, stale-if-error=30", 0, 0, 0)]
    [InlineData("Cache-Control: max-age=10\r\nETag: \"a\"", 7, 8, 100)]
    [InlineData("Cache-Control: no-cache, stale-if-error=30\r\nETag: \"a\"", 0, 0, 100)]
    public void Times_AreTheOriginsThenTheOptions(string fields, int whileRevalidating, int ifError, int kept)
    {
        SharingVerdict verdict = Heads.Judge(fields, 200, s_options);

        Assert.Equal(
            (TimeSpan.FromSeconds(whileRevalidating), TimeSpan.FromSeconds(ifError), TimeSpan.FromSeconds(kept)),
            (verdict.StaleWhileRevalidate, verdict.StaleIfError, verdict.KeptFor));
    }

    [Theory]
    [InlineData(500, "Cache-Control: max-age=10, stale-if-error=30\r\nETag: \"a\"", 0)]
    [InlineData(302, "ETag: \"a\"", 0)]
    [InlineData(302, "Cache-Control: public\r\nETag: \"a\"", 100)]
    [InlineData(302, "Cache-Control: max-age=0\r\nETag: \"a\"", 100)]
    [InlineData(404, "ETag: \"a\"", 100)]
    public void Status_DecidesWhetherAnythingIsKept(int status, string fields, int kept) =>
        Assert.Equal(TimeSpan.FromSeconds(kept), Heads.Judge(fields, status, s_options).KeptFor);
}
