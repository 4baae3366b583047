using System.Diagnostics.Metrics;

namespace IoUringCache.Caching.Disk;

/// <summary>Counters of the disk tier, cumulative since its start. Any thread.</summary>
internal sealed class DiskMetrics
{
    private readonly long[] _drops = new long[Enum.GetValues<DropReason>().Length];
    private long _promotions;
    private long _demotions;
    private long _readBytes;
    private long _writtenBytes;

    public long Promotions => Volatile.Read(ref _promotions);

    public long Demotions => Volatile.Read(ref _demotions);

    public long ReadBytes => Volatile.Read(ref _readBytes);

    public long WrittenBytes => Volatile.Read(ref _writtenBytes);

    /// <summary>By reason, tagged with it.</summary>
    public IEnumerable<Measurement<long>> Drops => Enum.GetValues<DropReason>().Select(reason =>
        new Measurement<long>(DropsOf(reason), new KeyValuePair<string, object?>("reason", Name(reason))));

    public long DropsOf(DropReason reason) => Volatile.Read(ref _drops[(int)reason]);

    public void Promoted() => Interlocked.Increment(ref _promotions);

    public void Demoted() => Interlocked.Increment(ref _demotions);

    public void Dropped(DropReason reason, int objects = 1) => Interlocked.Add(ref _drops[(int)reason], objects);

    public void Read(int bytes) => Interlocked.Add(ref _readBytes, bytes);

    public void Wrote(int bytes) => Interlocked.Add(ref _writtenBytes, bytes);

    private static string Name(DropReason reason) => string.Concat(reason.ToString().Select(static (letter, index) =>
        char.IsUpper(letter) && index > 0 ? "-" + char.ToLowerInvariant(letter) : char.ToLowerInvariant(letter).ToString()));
}
