namespace IoUringCache.Caching.Options;

/// <summary>The options of how a fetch waits for its turn; as <see cref="OptionCatalog"/>. Immutable; any thread.</summary>
internal static class FetchOptionCatalog
{
    public static readonly Option<TimeSpan> QueueTime = OptionCatalog.Duration(
        "Cache:FetchQueueTime", "0s", TimeSpan.Zero, TimeSpan.FromHours(1),
        "How long a new fill waits for a place when MaxFills, OriginMaxFills or MaxInFlightBytes is reached, before its requests get 503. 0: not at all.");
}
