using System.Diagnostics.Metrics;
using System.Globalization;
using System.Text;

namespace IoUringCache.Caching.Telemetry;

/// <summary>
/// How long requests for objects took, by outcome, from their dispatch to the last byte that the server took. Counted here, without a lock,
/// for whoever looks; and by an instrument of the meter as well, which costs a lock, where somebody listens to it: the export by OTLP, and
/// nobody else in the service. Any thread; one per service.
/// </summary>
internal sealed class RequestDurations
{
    public const string Name = "cache_request_duration_seconds";

    private const string Description = "Requests for objects, to the last byte handed to the transport; the sum is an estimate.";

    /// <summary>Bounds of the buckets that are shown: powers of two of a microsecond, from 64 us to 17 s.</summary>
    private const int FirstBound = 6;
    private const int LastBound = 24;

    private readonly LatencyHistogram[] _histograms = [.. Enum.GetValues<RequestOutcome>().Select(_ => new LatencyHistogram())];
    private readonly Histogram<double> _instrument;

    public RequestDurations(Meter meter) => _instrument = meter.CreateHistogram(
        "cache.request.duration",
        "s",
        Description,
        tags: null,
        new InstrumentAdvice<double> { HistogramBucketBoundaries = [.. Bounds.Select(microseconds => microseconds / 1e6)] });

    private static IEnumerable<long> Bounds => Enumerable.Range(FirstBound, LastBound - FirstBound + 1).Select(bound => 1L << bound);

    public void Record(RequestOutcome outcome, TimeSpan duration)
    {
        _histograms[(int)outcome].Record(duration);
        if (_instrument.Enabled)
        {
            _instrument.Record(duration.TotalSeconds, new KeyValuePair<string, object?>("outcome", LabelOf(outcome)));
        }
    }

    /// <summary>True for the instrument, which who writes this text must not listen to.</summary>
    public bool IsMeasuredBy(Instrument instrument) => ReferenceEquals(instrument, _instrument);

    public LatencySnapshot Of(RequestOutcome outcome) => _histograms[(int)outcome].Read();

    /// <summary>The name of an outcome outside of the program.</summary>
    public static string LabelOf(RequestOutcome outcome) => outcome switch
    {
        RequestOutcome.Hit => "hit",
        RequestOutcome.Stale => "stale",
        RequestOutcome.Join => "join",
        RequestOutcome.Miss => "miss",
        RequestOutcome.Pass => "pass",
        RequestOutcome.Upgrade => "upgrade",
        RequestOutcome.Own => "own",
        _ => "cut",
    };

    /// <summary>In the Prometheus exposition format 0.0.4.</summary>
    public void Write(StringBuilder text)
    {
        text.Append("# HELP ").Append(Name).Append(' ').Append(Description).Append('\n')
            .Append("# TYPE ").Append(Name).Append(" histogram\n");
        foreach (RequestOutcome outcome in Enum.GetValues<RequestOutcome>())
        {
            LatencySnapshot snapshot = Of(outcome);
            string label = $"outcome=\"{LabelOf(outcome)}\"";
            foreach (long microseconds in Bounds)
            {
                Append($"{Name}_bucket{{{label},le=\"{microseconds / 1e6:0.######}\"}} {snapshot.CountBelow(microseconds)}\n");
            }

            Append($"{Name}_bucket{{{label},le=\"+Inf\"}} {snapshot.Count}\n");
            Append($"{Name}_sum{{{label}}} {snapshot.Sum.TotalSeconds:0.######}\n{Name}_count{{{label}}} {snapshot.Count}\n");
        }

        void Append(FormattableString line) => text.Append(line.ToString(CultureInfo.InvariantCulture));
    }
}
