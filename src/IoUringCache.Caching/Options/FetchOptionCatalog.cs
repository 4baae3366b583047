namespace IoUringCache.Caching.Options;

/// <summary>The options of how a fetch waits for its turn, and goes on after a break; as <see cref="OptionCatalog"/>. Immutable; any thread.</summary>
internal static class FetchOptionCatalog
{
    public static readonly Option<TimeSpan> QueueTime = OptionCatalog.Duration(
        "Cache:FetchQueueTime", "0s", TimeSpan.Zero, TimeSpan.FromHours(1),
        "How long a new fill waits for a place when MaxFills, OriginMaxFills or MaxInFlightBytes is reached, before its requests get 503. 0: not at all.");

    public static readonly Option<int> Resumes = OptionCatalog.Count(
        "Cache:FetchResumes", "0", 0, 100,
        "How often a body that breaks off is resumed by Range, if it has a length and a strong validator. 0: never, and its readers are cut.");
}
