using System.Collections.Concurrent;
using System.Diagnostics.Metrics;
using System.Text;

namespace IoUringCache.Caching.Telemetry;

/// <summary>All series of one instrument, and their text in the Prometheus exposition format 0.0.4. Any thread; owned by the collector.</summary>
internal sealed class InstrumentSeries
{
    /// <summary>For histograms whose instrument advises none: powers of two, which suit counts and sizes.</summary>
    private static readonly double[] s_defaultBoundaries = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

    private readonly ConcurrentDictionary<string, Series> _series = new(StringComparer.Ordinal);

    /// <summary>Those with one tag once more, by that: a loop measures each of its turns, and a text for each would cost more than the rest.</summary>
    private readonly ConcurrentDictionary<(string Name, object? Value), Series> _byTag = new();

    private readonly string _name;
    private readonly string _type;
    private readonly string _description;
    private readonly bool _isTotal;
    private readonly bool _isObservable;
    private readonly IReadOnlyList<double> _boundaries;

    public InstrumentSeries(Instrument instrument)
    {
        // A generic type per number type: the name of the open type is enough to tell the kinds apart.
        string kind = instrument.GetType().Name;
        _type = kind.StartsWith("Histogram", StringComparison.Ordinal) ? "histogram"
            : kind.Contains("UpDown", StringComparison.Ordinal) || kind.Contains("Gauge", StringComparison.Ordinal) ? "gauge" : "counter";
        _isObservable = instrument.IsObservable;
        _isTotal = _isObservable || kind.StartsWith("Gauge", StringComparison.Ordinal);
        _description = instrument.Description ?? "";
        _name = NameOf(instrument.Name)
            + instrument.Unit switch { "By" => "_bytes", "s" => "_seconds", _ => "" }
            + (_type == "counter" ? "_total" : "");
        _boundaries = _type == "histogram" ? AdvisedBoundaries(instrument) ?? s_defaultBoundaries : [];
    }

    public void Measure(double value, ReadOnlySpan<KeyValuePair<string, object?>> tags)
    {
        Series series = tags is [var tag]
            ? _byTag.GetOrAdd((tag.Key, tag.Value), static (tag, owner) => owner.Of([new(tag.Name, tag.Value)]), this)
            : Of(tags);
        if (_type == "histogram")
        {
            series.Record(value);
        }
        else if (_isTotal)
        {
            // Observed instruments give totals, not increments.
            series.Set(value);
        }
        else
        {
            series.Add(value);
        }
    }

    /// <summary>Before it is observed: a series that is not told again has ended.</summary>
    public void Forget()
    {
        if (_isObservable)
        {
            _series.Clear();
            _byTag.Clear();
        }
    }

    public void Write(StringBuilder text)
    {
        text.Append("# HELP ").Append(_name).Append(' ').Append(Escape(_description)).Append('\n');
        text.Append("# TYPE ").Append(_name).Append(' ').Append(_type).Append('\n');
        foreach (Series series in _series.OrderBy(pair => pair.Key, StringComparer.Ordinal).Select(pair => pair.Value))
        {
            if (_type == "histogram")
            {
                series.WriteHistogram(text, _name);
            }
            else
            {
                series.WriteValue(text, _name);
            }
        }
    }

    /// <summary>Its figures with their names; of a histogram the number and the sum.</summary>
    public IEnumerable<(string Name, double Value)> Read() => _series.Values.SelectMany(
        series => _type == "histogram" ? series.ReadHistogram(_name) : [series.ReadValue(_name)]);

    private Series Of(ReadOnlySpan<KeyValuePair<string, object?>> tags) =>
        _series.GetOrAdd(tags.IsEmpty ? "" : LabelsOf(tags), static (labels, boundaries) => new(labels, boundaries), _boundaries);

    private static IReadOnlyList<double>? AdvisedBoundaries(Instrument instrument) => instrument switch
    {
        Histogram<double> { Advice.HistogramBucketBoundaries: { } boundaries } => boundaries,
        Histogram<long> { Advice.HistogramBucketBoundaries: { } boundaries } => [.. boundaries.Select(boundary => (double)boundary)],
        Histogram<int> { Advice.HistogramBucketBoundaries: { } boundaries } => [.. boundaries.Select(boundary => (double)boundary)],
        _ => null,
    };

    private static string LabelsOf(ReadOnlySpan<KeyValuePair<string, object?>> tags)
    {
        List<string> labels = new(tags.Length);
        foreach ((string name, object? value) in tags)
        {
            string text = value is bool flag ? (flag ? "true" : "false") : value?.ToString() ?? "";
            labels.Add($"{NameOf(name)}=\"{Escape(text).Replace("\"", "\\\"", StringComparison.Ordinal)}\"");
        }

        labels.Sort(StringComparer.Ordinal);
        return string.Join(',', labels);
    }

    private static string NameOf(string name) =>
        string.Concat(name.Select(character => char.IsAsciiLetterOrDigit(character) ? character : '_'));

    private static string Escape(string text) =>
        text.Replace("\\", "\\\\", StringComparison.Ordinal).Replace("\n", "\\n", StringComparison.Ordinal);
}
