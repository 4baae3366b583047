using System.Diagnostics.Metrics;

namespace IoUringCache.Caching.Telemetry;

/// <summary>Purges by kind, and the objects that they hit by kind and tier. Each kind has its series from the start. Any thread.</summary>
internal sealed class PurgeCounts
{
    private static readonly string[] s_kinds = ["key", "prefix", "tag", "all"];

    private readonly long[] _purges = new long[s_kinds.Length];
    private readonly long[] _inMemory = new long[s_kinds.Length];
    private readonly long[] _onDisk = new long[s_kinds.Length];

    public long Purges => _purges.Sum();

    public long Objects => _inMemory.Sum() + _onDisk.Sum();

    /// <param name="kind">One of the four.</param>
    /// <param name="onDisk">Objects on the disk that it hit, some of them also in memory.</param>
    public void Add(string kind, int inMemory, int onDisk)
    {
        int index = s_kinds.IndexOf(kind);
        Interlocked.Increment(ref _purges[index]);
        Interlocked.Add(ref _inMemory[index], inMemory);
        Interlocked.Add(ref _onDisk[index], onDisk);
    }

    public IEnumerable<Measurement<long>> MeasurePurges() => s_kinds.Select((kind, index) => new Measurement<long>(
        Volatile.Read(ref _purges[index]), new KeyValuePair<string, object?>("kind", kind)));

    public IEnumerable<Measurement<long>> MeasureObjects() => Of("memory", _inMemory).Concat(Of("disk", _onDisk));

    private static IEnumerable<Measurement<long>> Of(string tier, long[] counts) => s_kinds.Select((kind, index) => new Measurement<long>(
        Volatile.Read(ref counts[index]), new KeyValuePair<string, object?>("kind", kind), new KeyValuePair<string, object?>("tier", tier)));
}
