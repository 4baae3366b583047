using CachingService.Options;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.AspNetCore.Server.Kestrel.Core.Features;

namespace CachingService.Serving;

/// <summary>
/// How fast a client must read what it is sent. Kestrel measures, and cuts the connection; over HTTP/2 it knows only one rate for all, so
/// that a route's own counts for HTTP/1.x alone. Any thread.
/// </summary>
internal static class ReaderRate
{
    /// <summary>How long a client may be slower: Kestrel's default.</summary>
    private static readonly TimeSpan s_grace = TimeSpan.FromSeconds(5);

    /// <param name="bytesPerSecond">Zero: none.</param>
    public static MinDataRate? Of(long bytesPerSecond) => bytesPerSecond == 0 ? null : new(bytesPerSecond, s_grace);

    /// <summary>Sets the rate of a key's route. Only for where routes have rates of their own.</summary>
    public static void Apply(HttpContext context, RoutePolicy route)
    {
        if (context.Features.Get<IHttpMinResponseDataRateFeature>() is { } rate)
        {
            rate.MinDataRate = Of(route.MinReaderRate);
        }
    }
}
