using System.Net;
using IoUringCache.Caching.Options;
using IoUringCache.Caching.Serving;

namespace CachingService.Routes;

/// <summary>Refuses clients of a route by their address. Any thread; one per route.</summary>
/// <param name="allowed">All others are refused; empty: none are.</param>
/// <param name="denied">Refused in any case.</param>
/// <param name="options">Of the cache: which proxies are believed.</param>
/// <param name="answers">Says no.</param>
internal sealed class NetworkRule(PeerList allowed, PeerList denied, LiveOptions options, OwnAnswer answers)
{
    /// <summary>What stands in front of <paramref name="next"/>.</summary>
    public ObjectHandler Before(ObjectHandler next) => (context, address) =>
    {
        bool isKnown = ForwardingFields.TryFindClient(context, options.Now.TrustedProxies, out IPAddress? client);
        if ((allowed.IsEmpty || (isKnown && allowed.Contains(client))) && !denied.Contains(client))
        {
            return next(context, address);
        }

        answers.Send(context, StatusCodes.Status403Forbidden, "client-network");
        return Task.CompletedTask;
    };
}
