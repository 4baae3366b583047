using System.Collections.Concurrent;
using System.Diagnostics.Metrics;
using System.Text;

namespace IoUringCache.Caching.Telemetry;

/// <summary>
/// Listens to this service's meter and to the transport's, and writes their figures as Prometheus text. Any thread; one per service.
/// </summary>
internal sealed class MetricsCollector : IDisposable
{
    /// <summary>The meter of the io_uring transport, which serves the whole process.</summary>
    public const string TransportMeterName = "IoUringCache.Transport";

    private readonly ConcurrentDictionary<Instrument, InstrumentSeries> _instruments = new();
    private readonly MeterListener _listener = new();
    private readonly CacheMetrics _metrics;

    /// <summary>Of one look at a time.</summary>
    private readonly Lock _lock = new();

    /// <param name="metrics">The service whose meter is listed; those of other services in the process are not.</param>
    public MetricsCollector(CacheMetrics metrics)
    {
        _metrics = metrics;
        _listener.InstrumentPublished = (instrument, listener) =>
        {
            bool isOurs = ReferenceEquals(instrument.Meter.Scope, metrics) || instrument.Meter.Name == TransportMeterName;
            if (isOurs && !metrics.Durations.IsMeasuredBy(instrument))
            {
                listener.EnableMeasurementEvents(instrument, _instruments.GetOrAdd(instrument, static instrument => new(instrument)));
            }
        };
        _listener.SetMeasurementEventCallback<int>(static (_, value, tags, state) => ((InstrumentSeries)state!).Measure(value, tags));
        _listener.SetMeasurementEventCallback<long>(static (_, value, tags, state) => ((InstrumentSeries)state!).Measure(value, tags));
        _listener.SetMeasurementEventCallback<double>(static (_, value, tags, state) => ((InstrumentSeries)state!).Measure(value, tags));
        _listener.Start();
    }

    /// <summary>The text of all instruments, in the order of their names.</summary>
    public string Write()
    {
        StringBuilder text = new();
        lock (_lock)
        {
            Observe();
            foreach ((_, InstrumentSeries series) in _instruments.OrderBy(pair => pair.Key.Name, StringComparer.Ordinal))
            {
                series.Write(text);
            }
        }

        _metrics.Durations.Write(text);
        return text.ToString();
    }

    /// <summary>The figures alone, each with its name and labels as in the text; of histograms the number and the sum.</summary>
    public IReadOnlyList<(string Name, double Value)> Read()
    {
        lock (_lock)
        {
            Observe();
            return [.. _instruments.Values.SelectMany(static instrument => instrument.Read()).OrderBy(static figure => figure.Name, StringComparer.Ordinal)];
        }
    }

    public void Dispose() => _listener.Dispose();

    private void Observe()
    {
        foreach (InstrumentSeries series in _instruments.Values)
        {
            series.Forget();
        }

        _listener.RecordObservableInstruments();
    }
}
