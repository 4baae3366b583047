using IoUringCache.Caching.Filling;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Options;
using IoUringCache.Caching.Storage;

namespace IoUringCache.Caching.Serving;

/// <summary>Tells in Cache-Status how a request came by what it gets from a fill. Any thread.</summary>
internal static class FillStatus
{
    public static string Of(this CacheStatus status, CachedObject shared, FillHeaders headers, FillReader reader, CacheOptions options) => headers switch
    {
        { Failure: { } failure } => status.StoodIn(reader.Forward, shared.TimeToLive, !reader.IsLeader, failure.Detail),
        { IsValidated: true } => status.Validated(reader.Forward, !reader.IsLeader, shared.Verdict.StaleBy),
        _ => reader.Role switch
        {
            not ReaderRole.InFlight when headers.IsPromoted => status.DiskHit(shared.TimeToLive),
            not ReaderRole.InFlight when headers.IsMadeOfPlain => status.CompressedHit(shared.TimeToLive),
            ReaderRole.Leader when shared.Head.ContentLength > Math.Min(options.MaxObjectBytes, options.MaxBytes) =>
                status.Miss(reader.Forward, shared.Head.StatusCode, isStored: false, headers.Refusal ?? KeyMarkers.TooLarge),
            ReaderRole.Leader => status.Miss(
                reader.Forward, shared.Head.StatusCode, shared.Verdict.CanStore, headers.Refusal ?? shared.Verdict.StaleBy),
            ReaderRole.Collapsed => status.Collapsed(reader.Forward),
            _ => status.InFlight,
        },
    };
}
