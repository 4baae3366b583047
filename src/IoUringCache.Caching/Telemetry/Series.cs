using System.Globalization;
using System.Text;

namespace IoUringCache.Caching.Telemetry;

/// <summary>
/// The running figure of one instrument and one set of tags: a sum for counters, the last value for gauges, buckets for histograms.
/// Any thread; owned by the collector.
/// </summary>
/// <param name="labels">Prometheus label pairs without braces, may be empty.</param>
/// <param name="boundaries">Upper bounds of the buckets; empty unless the instrument is a histogram.</param>
internal sealed class Series(string labels, IReadOnlyList<double> boundaries)
{
    private readonly Lock _lock = new();
    private readonly long[] _buckets = new long[boundaries.Count + 1];
    private double _value;
    private long _count;

    public void Add(double value)
    {
        lock (_lock)
        {
            _value += value;
        }
    }

    public void Set(double value)
    {
        lock (_lock)
        {
            _value = value;
        }
    }

    public void Record(double value)
    {
        int bucket = 0;
        while (bucket < boundaries.Count && value > boundaries[bucket])
        {
            bucket++;
        }

        lock (_lock)
        {
            _buckets[bucket]++;
            _count++;
            _value += value;
        }
    }

    public void WriteValue(StringBuilder text, string name)
    {
        lock (_lock)
        {
            WriteLine(text, name, labels, _value);
        }
    }

    public void WriteHistogram(StringBuilder text, string name)
    {
        lock (_lock)
        {
            long below = 0L;
            for (int bucket = 0; bucket < _buckets.Length; bucket++)
            {
                below += _buckets[bucket];
                string bound = bucket < boundaries.Count ? boundaries[bucket].ToString(CultureInfo.InvariantCulture) : "+Inf";
                WriteLine(text, name + "_bucket", $"{labels}{(labels.Length > 0 ? "," : "")}le=\"{bound}\"", below);
            }

            WriteLine(text, name + "_sum", labels, _value);
            WriteLine(text, name + "_count", labels, _count);
        }
    }

    public (string Name, double Value) ReadValue(string name)
    {
        lock (_lock)
        {
            return (Labelled(name), _value);
        }
    }

    public (string Name, double Value)[] ReadHistogram(string name)
    {
        lock (_lock)
        {
            return [(Labelled(name + "_sum"), _value), (Labelled(name + "_count"), _count)];
        }
    }

    private string Labelled(string name) => labels.Length > 0 ? $"{name}{{{labels}}}" : name;

    private static void WriteLine(StringBuilder text, string name, string labels, double value)
    {
        text.Append(name);
        if (labels.Length > 0)
        {
            text.Append('{').Append(labels).Append('}');
        }

        text.Append(' ').Append(value.ToString(CultureInfo.InvariantCulture)).Append('\n');
    }
}
