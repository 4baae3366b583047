using System.Net;
using IoUringCache.Caching.Options;
using IoUringCache.Caching.Serving;

namespace CachingService.Routes;

/// <summary>
/// Refuses requests of client networks that make too many of a route. A <c>PURGE</c> for the service is not counted: its own permission counts. Any
/// thread; one per route.
/// </summary>
internal sealed class RateRule(NetworkBuckets buckets, LiveOptions options, RouteRefusals refusals)
{
    public ObjectHandler Before(ObjectHandler next) => (context, address) =>
    {
        if (PurgeMethod.IsFor(context, address))
        {
            return next(context, address);
        }

        // Of a client whose proxy does not name its address, it is that of the proxy.
        ForwardingFields.TryFindClient(context, options.Now.TrustedProxies, out IPAddress? client);
        return buckets.TryTake(client, out TimeSpan retryAfter) ? next(context, address) : refusals.SendTooMany(context, address, retryAfter);
    };
}
