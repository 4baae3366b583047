using IoUringCache.Caching.Origins;

namespace IoUringCache.Caching.Serving;

/// <summary>Requests whose objects come from one place, by one set of rules. Immutable; any thread.</summary>
/// <param name="Hosts">In lower case; <c>*.</c> in front stands for each host below. None: all hosts.</param>
/// <param name="Prefix">First bytes of the raw paths.</param>
/// <param name="Keys">Makes their keys; strips no more than the prefix.</param>
internal sealed record GateRoute(IReadOnlyList<string> Hosts, string Prefix, CacheRoute Route, KeyRule Keys, ObjectHandler Objects)
{
    /// <summary>Whether it refuses clients, so that its paths must not be had by another route.</summary>
    public bool IsGuarded { get; init; }
}
