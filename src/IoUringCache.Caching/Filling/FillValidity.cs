using IoUringCache.Caching.Http;
using IoUringCache.Caching.Storage;

namespace IoUringCache.Caching.Filling;

/// <summary>
/// Whether what a fill brings is still what the origin would say: not after an invalidation or purge that came since it began, hard or soft.
/// It is then for those who have joined it, and neither for the store nor for anybody else. Any thread; belongs to one fill.
/// </summary>
/// <param name="site">Of the key (<see cref="Origins.ObjectAddress.Site"/>).</param>
internal sealed class FillValidity(PurgeEpochs purges, string key, string site)
{
    private readonly PurgeEvent _begun = purges.Begin();
    private readonly Tag? _prefix = purges.InternPrefixOf(key);
    private volatile bool _isOver;
    private volatile bool _isInvalidated;

    /// <summary>Whether what was there before may stand in for a failure: not after a hard purge of the key.</summary>
    public bool AllowsTheOld => !_isInvalidated;

    /// <summary>The key was purged or invalidated.</summary>
    public void End(bool isSoft)
    {
        _isOver = true;
        _isInvalidated |= !isSoft;
    }

    /// <param name="received">What has come, from its headers on: its tags may have been purged.</param>
    public bool IsOver(CachedObject? received) => _isOver || StampOf(received).IsPurged;

    /// <inheritdoc cref="PurgeStamp.IsInDoubt"/>
    public bool IsInDoubt(CachedObject? received) => StampOf(received).IsInDoubt;

    /// <summary>By what an answer to the fill is judged from now on.</summary>
    public PurgeStamp Stamp(ResponseHead head) => PurgeStamp.Of(purges, _begun, TagRules.Of(head, site), _prefix);

    private PurgeStamp StampOf(CachedObject? received) => received?.Stamp ?? PurgeStamp.Of(purges, _begun, [], _prefix);
}
