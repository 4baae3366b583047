using CachingService.Http;
using CachingService.Options;
using CachingService.Origins;
using CachingService.Storage;
using Microsoft.Extensions.Primitives;
using Microsoft.Net.Http.Headers;

namespace CachingService.Serving;

/// <summary>
/// What the origin's 200 to a HEAD says of the object that is stored (RFC 9111 4.3.5): with the same length and validators it is as good
/// as a 304, with others what is stored has been replaced. One without any of them says nothing, nor does one in another coding: a HEAD goes
/// with all that the client accepts, a fill with what many do, and so they may ask for different things. Any thread; one per service.
/// </summary>
internal sealed class HeadUpdate(ObjectStore store, PurgeEpochs purges, CacheOptions options)
{
    /// <summary>To be taken before the origin is asked.</summary>
    public PurgeEvent Begin() => purges.Begin();

    /// <summary>Called before the client has the answer, and only with what is for everybody.</summary>
    public void Apply(string key, IHeaderDictionary request, PurgeEvent begun, OriginResponse answer)
    {
        ResponseHead head = answer.Head;
        if (head.StatusCode != StatusCodes.Status200OK
            || store.Find(key, request) is not { Head.StatusCode: StatusCodes.Status200OK } stored
            || IsSilent(head)
            || !StringValues.Equals(stored.Head[HeaderNames.ContentEncoding], head[HeaderNames.ContentEncoding]))
        {
            return;
        }

        ResponseHead updated = HeaderRules.Update(stored.Head, head);
        SharingVerdict verdict = SharingRules.Judge(updated, answer.Receipt, options);
        if (IsOf(stored, head) && verdict.CanStore)
        {
            PurgeStamp stamp = PurgeStamp.Of(purges, begun, TagRules.Of(updated));
            store.Replace(stored, stored.Confirm(updated.Without(verdict.WithheldFields), verdict, verdict.Vary.KeyOf(request), stamp));
        }
        else
        {
            store.Remove(stored);
        }
    }

    private static bool IsSilent(ResponseHead head) =>
        head.ContentLength is null && head[HeaderNames.ETag].Count == 0 && head[HeaderNames.LastModified].Count == 0;

    private static bool IsOf(CachedObject stored, ResponseHead head) =>
        (head.ContentLength is null || head.ContentLength == stored.KnownLength)
        && IsSame(stored.Head, head, HeaderNames.ETag)
        && IsSame(stored.Head, head, HeaderNames.LastModified);

    private static bool IsSame(ResponseHead stored, ResponseHead head, string name) =>
        head[name] is { Count: 0 } || StringValues.Equals(stored[name], head[name]);
}
