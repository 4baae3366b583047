using IoUringCache.Caching.Http;
using IoUringCache.Caching.Options;
using IoUringCache.Caching.Origins;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.AspNetCore.Server.Kestrel.Core.Features;

namespace IoUringCache.Caching.Serving;

/// <summary>
/// How fast a client must read what it is sent. Of bodies <see cref="ReaderRateMonitor"/> takes care, because Kestrel's rule does not count all
/// bytes, and sees the kernel's buffer where it means the client; Kestrel's holds for everything else that it sends. Any thread.
/// </summary>
internal static class ReaderRate
{
    /// <summary>
    /// A client may be silent for the time of this many bytes at the minimum rate. At twice the rate that is a step of 192 KiB: a client
    /// with TCP's usual buffer takes 100 to 200 KB at a time.
    /// </summary>
    private const int BurstBytes = 96 * 1024;

    /// <summary>
    /// What is added, up to the time of the step itself: a client that can take bytes again is found by a probe, and each waits twice as long
    /// as the one before, but not above this (TCP_RTO_MAX; RFC 9293 section 3.8.6.1).
    /// </summary>
    private static readonly TimeSpan s_longestProbe = TimeSpan.FromSeconds(120);

    /// <summary>How much longer a client may be silent that has come back from silences, at most.</summary>
    private const int MaxBursts = 4;

    /// <summary>
    /// How long a client may be silent that has taken what lasts so long, if that is more: <c>curl --limit-rate</c> reads for 100 s in advance.
    /// </summary>
    private static readonly TimeSpan s_longestBurst = TimeSpan.FromSeconds(100);

    /// <summary>How long a client may be slower, whatever the rate: Kestrel's default.</summary>
    private static readonly TimeSpan s_grace = TimeSpan.FromSeconds(5);

    private static volatile MinDataRate? s_last;

    /// <summary>How long a client may take nothing.</summary>
    /// <param name="bytesPerSecond">The minimum rate, 1 or more.</param>
    /// <param name="takenBytes">Bytes that the client has taken so far: none of its steps was larger.</param>
    /// <param name="longestSilence">The longest silence from which the client came back with what it owed at the minimum rate.</param>
    public static TimeSpan LongestWait(long bytesPerSecond, long takenBytes, TimeSpan longestSilence)
    {
        double burst = (double)BurstBytes / bytesPerSecond;
        double step = burst + Math.Min(burst, s_longestProbe.TotalSeconds);
        double taken = Math.Min((double)takenBytes / bytesPerSecond, s_longestBurst.TotalSeconds);
        double proven = Math.Min(2 * longestSilence.TotalSeconds, MaxBursts * burst);
        return s_grace + TimeSpan.FromSeconds(Math.Max(step, Math.Max(taken, proven)));
    }

    /// <summary>Kestrel's rule for what is no body.</summary>
    /// <param name="bytesPerSecond">Zero: none.</param>
    public static MinDataRate? ForKestrel(long bytesPerSecond)
    {
        if (bytesPerSecond == 0)
        {
            return null;
        }

        // Asked for each request, and mostly the same.
        MinDataRate? last = s_last;
        return last?.BytesPerSecond == bytesPerSecond ? last : s_last = new(bytesPerSecond, s_grace);
    }

    /// <summary>Sets the rate of an object, where it is not the rate of all.</summary>
    public static void Apply(HttpContext client, ObjectAddress address, RouteTable general)
    {
        if (ReferenceEquals(address.Route.Policies, general) && !general.HasOwnRates)
        {
            return;
        }

        RoutePolicy policy = address.Policy;
        if (policy.MinReaderRate != general.General.MinReaderRate)
        {
            client.Features.Set(policy);
        }

        if (client.Features.Find<IHttpMinResponseDataRateFeature>() is { } rate)
        {
            rate.MinDataRate = ForKestrel(policy.MinReaderRate);
        }
    }

    /// <summary>The rate of a response's route, in bytes per second; zero: none.</summary>
    public static long Of(HttpContext client, RouteTable routes) =>
        (client.Features.Find<RoutePolicy>() ?? routes.General).MinReaderRate;

    /// <summary>
    /// A body begins, which the monitor watches and not Kestrel. Over HTTP/2 Kestrel goes on: it judges the connection, and counts all of its bytes.
    /// </summary>
    public static void BeginBody(HttpContext client)
    {
        if (client.Features.Find<IHttpMinResponseDataRateFeature>() is { } rate)
        {
            rate.MinDataRate = null;
        }
    }
}
