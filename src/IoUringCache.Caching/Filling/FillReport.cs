using IoUringCache.Caching.Http;
using IoUringCache.Caching.Storage;

namespace IoUringCache.Caching.Filling;

/// <summary>How a fill stands at one moment. Immutable.</summary>
/// <param name="Key">Raw bytes after <c>/object/</c>.</param>
/// <param name="Forward">Why the origin is asked, as Cache-Status has it.</param>
/// <param name="Age">Since it began.</param>
/// <param name="Received">What comes, from its headers on.</param>
/// <param name="Slowest">How far the last reader is, in bytes of the body's memory; <see langword="null"/> without readers.</param>
/// <param name="IsOutdated">Invalidated or purged: it will not be stored.</param>
internal sealed record FillReport(
    string Key, FillState State, string Forward, TimeSpan Age, CachedObject? Received, int Readers, long? Slowest, bool IsOutdated)
{
    /// <summary>Whether what it receives has a tag or a prefix. Before the headers it may have any tag.</summary>
    public bool MayHave(Tag tag) => State switch
    {
        FillState.Queued or FillState.Requested => !tag.IsPrefix || KeyPrefixes.IsBelow(Key, tag.Name),
        FillState.Streaming or FillState.TooLarge => Received!.Stamp.Has(tag),
        _ => false,
    };
}
