using System.Runtime.CompilerServices;
using IoUringCache.Caching.Options;
using IoUringCache.Transport;
using Microsoft.AspNetCore.Http.Features;

namespace IoUringCache.Caching.Load;

/// <summary>
/// How much each loop has to do: the one question that whoever starts work asks first. Each loop is judged by itself, since the requests
/// of its connections wait for it and for no other. Any thread; one per service.
/// </summary>
internal sealed class LoadGauge(LiveOptions options, TimeProvider time)
{
    /// <summary>The word for what is refused because of it.</summary>
    public const string Detail = "overload";

    /// <summary>By what runs a connection's code; the same for all connections of a loop.</summary>
    private readonly ConditionalWeakTable<IConnectionSchedulerFeature, LoopProbe> _probes = [];

    private long _refusals;

    /// <summary>Whether anything is ever shed.</summary>
    public bool IsOn => options.Now.OverloadDelay != TimeSpan.Zero;

    /// <summary>Of the loop that has most to do, of those that have been asked for something lately.</summary>
    public LoadStep Highest => Probes.Select(probe => probe.Step).DefaultIfEmpty().Max();

    /// <summary>The longest of the last ways round a loop.</summary>
    public TimeSpan LongestDelay => Probes.Select(probe => probe.Delay).DefaultIfEmpty().Max();

    public long Refusals => Volatile.Read(ref _refusals);

    /// <summary>One for each loop that has had a request or a connection.</summary>
    public IEnumerable<LoopProbe> Probes => _probes.Select(entry => entry.Value);

    public TimeSpan ThresholdOf(LoadStep step) => DelayWindow.ThresholdOf(step, options.Now.OverloadDelay);

    /// <summary>What is to be shed of the requests of a connection.</summary>
    /// <param name="features">The connection's, or those of a request on it.</param>
    public LoadStep StepOf(IFeatureCollection features) => ProbeOf(features)?.Step ?? LoadStep.Normal;

    /// <summary>A request for an object has come.</summary>
    /// <param name="step">What is to be shed.</param>
    /// <returns>The probe of its loop; <see langword="null"/> where nothing is ever shed.</returns>
    public LoopProbe? OnRequest(IFeatureCollection features, out LoadStep step)
    {
        LoopProbe? probe = ProbeOf(features);
        step = probe?.OnRequest() ?? LoadStep.Normal;
        return probe;
    }

    public void Refused() => Interlocked.Increment(ref _refusals);

    private LoopProbe? ProbeOf(IFeatureCollection features)
    {
        if (!IsOn)
        {
            return null;
        }

        IConnectionSchedulerFeature scheduler = features.GetScheduler();

        // Only the first request of a loop pays for a delegate.
        return _probes.TryGetValue(scheduler, out LoopProbe? probe)
            ? probe
            : _probes.GetValue(scheduler, first => new(first, () => options.Now.OverloadDelay, time));
    }
}
