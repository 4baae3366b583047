using System.Collections.Frozen;
using System.Diagnostics.Metrics;

namespace IoUringCache.Caching.Telemetry;

/// <summary>A cumulative figure by reason. All reasons are known from the start: so each has a series before it is met, and there are no others. Any thread.</summary>
internal sealed class ReasonCounts
{
    /// <summary>For a reason that is not among those known.</summary>
    private const string Other = "other";

    private readonly string[] _reasons;
    private readonly FrozenDictionary<string, int> _indexes;
    private readonly long[] _counts;

    public ReasonCounts(params IEnumerable<string> reasons)
    {
        _reasons = [.. reasons, Other];
        _counts = new long[_reasons.Length];
        _indexes = _reasons.Index().ToFrozenDictionary(static pair => pair.Item, static pair => pair.Index, StringComparer.Ordinal);
    }

    public long Total => _counts.Sum();

    public void Add(string reason, long count = 1) => Interlocked.Add(ref _counts[_indexes.GetValueOrDefault(reason, _counts.Length - 1)], count);

    public IEnumerable<Measurement<long>> Measure() =>
        _reasons.Select((reason, index) => new Measurement<long>(Volatile.Read(ref _counts[index]), new KeyValuePair<string, object?>("reason", reason)));
}
