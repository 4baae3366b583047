using System.Net;
using IoUringCache.Caching.Options;
using IoUringCache.Caching.Serving;

namespace CachingService.Routes;

/// <summary>Refuses clients of a route by their address. Any thread; one per route.</summary>
/// <param name="allowed">All others are refused; empty: none are.</param>
/// <param name="denied">Refused in any case.</param>
internal sealed class NetworkRule(PeerList allowed, PeerList denied, LiveOptions options, RouteRefusals refusals)
{
    public ObjectHandler Before(ObjectHandler next) => (context, address) =>
    {
        bool isKnown = ForwardingFields.TryFindClient(context, options.Now.TrustedProxies, out IPAddress? client);
        return (allowed.IsEmpty || (isKnown && allowed.Contains(client))) && !denied.Contains(client)
            ? next(context, address)
            : refusals.SendForbidden(context, address, RouteRefusals.ClientNetwork);
    };
}
