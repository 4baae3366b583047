using System.Diagnostics.Metrics;
using IoUringCache.Transport.Internal.Diagnostics;

namespace IoUringCache.Transport.Internal.Hosting;

/// <summary>The metric <c>iouring.transport.info</c>: 1 for each back end that serves a host. Any thread.</summary>
internal static class TransportInfoMetric
{
    private static readonly Lock s_lock = new();
    private static readonly List<IoUringTransportInfo> s_infos = [];

    static TransportInfoMetric() => IoUringMetrics.Meter.CreateObservableGauge(
        "iouring.transport.info", Observe, "{host}", "Always 1. The attributes tell which back end serves, and how.");

    /// <summary>A host has decided.</summary>
    internal static void Add(IoUringTransportInfo info)
    {
        lock (s_lock)
        {
            s_infos.Add(info);
        }
    }

    /// <summary>A host has ended, whether it had decided or not.</summary>
    internal static void Remove(IoUringTransportInfo info)
    {
        lock (s_lock)
        {
            s_infos.Remove(info);
        }
    }

    /// <summary>Hosts with equal attributes are one measurement, as exporters want it.</summary>
    private static Measurement<int>[] Observe()
    {
        lock (s_lock)
        {
            return [.. s_infos.Select(info => info.State with { Reason = "" }).Distinct().Select(state => new Measurement<int>(
                1,
                new("iouring.backend", state.Backend == TransportBackend.IoUring ? "io_uring" : "sockets"),
                new("iouring.fallback", state.IsFallback),
                new("iouring.scheduling", state.Scheduling.ToString()),
                new("iouring.loop.count", state.LoopCount),
                new("iouring.ring.features", state.RingFeatures)))];
        }
    }
}
