using System.Globalization;
using System.Text;

namespace CachingService.Telemetry;

/// <summary>
/// How long requests for objects took, by outcome, from their dispatch to the last byte that the server took. Not an instrument of the meter,
/// whose listeners would cost each hit a lock. Any thread; one per service.
/// </summary>
internal sealed class RequestDurations
{
    public const string Name = "cache_request_duration_seconds";

    /// <summary>Bounds of the buckets that are shown: powers of two of a microsecond, from 64 us to 17 s.</summary>
    private const int FirstBound = 6;
    private const int LastBound = 24;

    private readonly LatencyHistogram[] _histograms = [.. Enum.GetValues<RequestOutcome>().Select(_ => new LatencyHistogram())];

    public void Record(RequestOutcome outcome, TimeSpan duration) => _histograms[(int)outcome].Record(duration);

    public LatencySnapshot Of(RequestOutcome outcome) => _histograms[(int)outcome].Read();

    /// <summary>The name of an outcome outside of the program.</summary>
    public static string LabelOf(RequestOutcome outcome) => outcome switch
    {
        RequestOutcome.Hit => "hit",
        RequestOutcome.Stale => "stale",
        RequestOutcome.Join => "join",
        RequestOutcome.Miss => "miss",
        RequestOutcome.Pass => "pass",
        RequestOutcome.Own => "own",
        _ => "cut",
    };

    /// <summary>In the Prometheus exposition format 0.0.4.</summary>
    public void Write(StringBuilder text)
    {
        text.Append("# HELP ").Append(Name).Append(" Requests for objects, to the last byte handed to the transport; the sum is an estimate.\n")
            .Append("# TYPE ").Append(Name).Append(" histogram\n");
        foreach (RequestOutcome outcome in Enum.GetValues<RequestOutcome>())
        {
            LatencySnapshot snapshot = Of(outcome);
            string label = $"outcome=\"{LabelOf(outcome)}\"";
            for (int bound = FirstBound; bound <= LastBound; bound++)
            {
                long microseconds = 1L << bound;
                Append($"{Name}_bucket{{{label},le=\"{microseconds / 1e6:0.######}\"}} {snapshot.CountBelow(microseconds)}\n");
            }

            Append($"{Name}_bucket{{{label},le=\"+Inf\"}} {snapshot.Count}\n");
            Append($"{Name}_sum{{{label}}} {snapshot.Sum.TotalSeconds:0.######}\n{Name}_count{{{label}}} {snapshot.Count}\n");
        }

        void Append(FormattableString line) => text.Append(line.ToString(CultureInfo.InvariantCulture));
    }
}
