using IoUringCache.Caching.Filling;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Origins;
using Microsoft.Extensions.Primitives;
using Microsoft.Net.Http.Headers;

namespace IoUringCache.Caching.Serving;

/// <summary>
/// Forgets what a request may have changed (RFC 9111 4.4): after an answer that is no error to a method that is not safe, the target, and
/// what <c>Location</c> and <c>Content-Location</c> name at the same origin; and the groups of the same site that it names (RFC 9875 3). Any thread; one per
/// service.
/// </summary>
internal sealed class Invalidation(Purger purger)
{
    /// <summary>
    /// Awaited before the client has a byte of the answer: whoever has it finds nothing older, also if the service ends and starts anew. Other
    /// nodes are told, and not waited for: a log that cannot be reached would hold up every such request.
    /// </summary>
    public async Task ApplyAsync(string method, ObjectAddress address, ResponseHead answer)
    {
        if (MethodRules.IsSafe(method) || answer.StatusCode >= StatusCodes.Status400BadRequest)
        {
            return;
        }

        purger.Invalidate(Purge.OfKey(address.Key, isSoft: false));
        foreach (string? reference in StringValues.Concat(answer[HeaderNames.Location], answer[HeaderNames.ContentLocation]))
        {
            if (address.Route.TryResolve(address, reference ?? "", out string? named))
            {
                purger.Invalidate(Purge.OfKey(named, isSoft: false));
            }
        }

        foreach (string group in TagRules.StringsOf(answer[TagRules.GroupInvalidation]).Take(TagRules.MaxTags))
        {
            purger.Invalidate(Purge.OfTag(TagRules.OfSite(group, address.Site), isSoft: false));
        }

        await purger.SettledAsync();
    }
}
