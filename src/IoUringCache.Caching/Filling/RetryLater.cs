using IoUringCache.Caching.Http;
using IoUringCache.Caching.Origins;
using IoUringCache.Caching.Storage;
using Microsoft.Net.Http.Headers;

namespace IoUringCache.Caching.Filling;

/// <summary>
/// An answer of our own in the store, for a key whose origin has said by a 503 when to come back and that the 503 itself is not to be stored:
/// without it each client would ask. Any thread.
/// </summary>
internal static class RetryLater
{
    /// <summary>Under the fill's lock: an invalidation comes before this, or finds the answer in the store. False where none is needed.</summary>
    /// <param name="refusal">Why it is not shared. What is for one client says nothing of the others.</param>
    public static bool TryStore(ObjectAddress address, OriginResponse response, string refusal, FillServices services, FillValidity validity)
    {
        TimeSpan wait = LifetimeRules.RetryAfter(response.Head, response.Receipt, address.Policy.Freshness);
        if (refusal != SharingRules.NoStore || wait == TimeSpan.Zero || validity.IsOver(received: null))
        {
            return false;
        }

        HeaderField[] fields =
        [
            new(HeaderNames.RetryAfter, response.Head[HeaderNames.RetryAfter]), new(HeaderNames.CacheControl, SharingRules.NoStore),
            new(HeaderNames.Date, response.Head[HeaderNames.Date]),
        ];
        ResponseHead head = new(response.Head.StatusCode, [.. fields], contentLength: 0);
        CachedObject answer = new(address.Key, head, new(null, wait, IsFreshWhileArriving: false), services.Ledger, services.Time)
        {
            Stamp = validity.Stamp(head),
        };
        answer.Body.Trim();
        if (!services.Store.Add(answer))
        {
            answer.LeaveFill(Keeper.Nobody, 0);
        }

        answer.Body.Finish(BodyEnd.Complete);
        return true;
    }
}
