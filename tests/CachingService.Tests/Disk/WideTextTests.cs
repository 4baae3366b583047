using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Storage;

namespace CachingService.Tests.Disk;

/// <summary>
/// Headers on the disk have a byte for each character. What has characters beyond that must not be found under others in their place.
/// </summary>
public sealed class WideTextTests : TierTests
{
    /// <summary>Full-width letters. Latin-1 would have <see cref="Plain"/> for them.</summary>
    private const string Wide = "\uff57\uff49\uff44\uff45";

    private const string Plain = "wide";

    [Fact]
    public async Task Key_IsNotFoundUnderAnotherOne()
    {
        await OfferAsync(Create(Wide));
        await ReopenAsync();

        Assert.Null(await ReadAsync(Plain));
    }

    [Fact]
    public async Task Tag_PurgesItsObject()
    {
        await OfferAsync(Create("a", tags: Wide));
        await ReopenAsync();
        await PurgeAsync(Wide);

        Assert.Null(await ReadAsync("a"));
    }

    [Fact]
    public async Task Field_IsNotChanged()
    {
        await OfferAsync(Create("a", new(null, TimeSpan.FromMinutes(1), IsFreshWhileArriving: false), [new("X-Field", Wide)]));

        Assert.Null(await ReadAsync("a"));
    }

    [Fact]
    public async Task TextOfLatin1_IsFound()
    {
        const string Key = "\u00fc\u00ff";
        await OfferAsync(Create(Key));
        await ReopenAsync();

        Assert.Equal(BodyOf(Key), await ReadAsync(Key));
    }

    /// <summary>Evicts an object. Ends when it is on the disk, or will not be.</summary>
    private Task OfferAsync(CachedObject evicted)
    {
        Tier.Demote(evicted);
        return Eventually.TrueAsync(() => Tier.WaitingBytes == 0, "nothing waits");
    }
}
