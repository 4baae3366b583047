using IoUringCache.Caching.Filling;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Load;
using IoUringCache.Caching.Origins;
using IoUringCache.Caching.Storage;
using IoUringCache.Caching.Telemetry;

namespace IoUringCache.Caching.Serving;

/// <summary>
/// Finds the further slices of a body, or has them fetched, one fetch for all who want one at the same time. Any thread; one per service.
/// </summary>
internal sealed class SliceSource(ObjectStore store, FillTable fills, WaitingRoom waiting, FetchRequests requests, CacheMetrics metrics)
{
    /// <summary>Opens a slice at its first byte, as soon as it begins to come.</summary>
    /// <param name="address">Of the first slice.</param>
    /// <param name="index">From 1.</param>
    /// <exception cref="OriginException">It cannot be had.</exception>
    public async ValueTask<OpenSlice> OpenAsync(HttpContext context, ObjectAddress address, CachedObject first, SliceMark mark, long index)
    {
        ObjectAddress own = address with { Key = mark.KeyOf(address.Key, index) };
        if (store.Find(own.Key, context.Request.Headers) is { IsKept: true, MayBeStale: true } stored)
        {
            // A soft purge asks for a confirmation, and that of the first slice is this one's too.
            stored.MarkRead();
            return OpenSlice.Stored(stored, context);
        }

        MissedRequest miss = requests.OfSlice(context, own, first, new(mark, first.Head, first.Verdict, index));
        switch (fills.JoinOrCreate(miss))
        {
            case { Hit: { } hit }:
                return OpenSlice.Stored(hit, context);
            case { Reader: { } reader }:
                return await WaitAsync(context, first, reader, miss);
            case { Overload: { } overload }:
                throw OriginException.Overloaded(overload);
            default:
                throw OriginException.BadGateway(FetchFields.Refusal, "the fields of the request are too long for a fetch");
        }
    }

    private async ValueTask<OpenSlice> WaitAsync(HttpContext context, CachedObject first, FillReader reader, MissedRequest miss)
    {
        metrics.ServedOf(context)?.Asked = reader.Asked;
        try
        {
            FillHeaders headers = await waiting.WaitAsync(
                reader, miss.Address.Policy, miss.Load, context.Features.GetScheduler(), context.RequestAborted);
            if (headers.Shared is not null)
            {
                return OpenSlice.Fetched(reader);
            }

            OriginException failure = headers.Failure ?? OriginException.BadGateway(SliceRequest.Changed, headers.Refusal ?? "no slice");
            if (failure.Detail == SliceRequest.Changed)
            {
                // The next request finds no first slice, and begins with the version of now.
                store.Remove(first);
            }

            throw failure;
        }
        catch
        {
            reader.Dispose();
            throw;
        }
    }
}

/// <summary>A place in one slice. Used by one request; disposed of before the next slice, so that none is kept for a slow client.</summary>
/// <param name="Fetch">Brings it; <see langword="null"/> if it was stored.</param>
internal readonly record struct OpenSlice(ObjectReader Reader, FillReader? Fetch) : IDisposable
{
    public static OpenSlice Stored(CachedObject stored, HttpContext context) => new(new HitReader(stored, context), null);

    public static OpenSlice Fetched(FillReader reader) => new(reader.Reader, reader);

    public void Dispose() => ((IDisposable?)Fetch ?? Reader).Dispose();
}
