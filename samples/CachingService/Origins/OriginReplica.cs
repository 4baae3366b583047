namespace CachingService.Origins;

/// <summary>
/// One address of the origin and how it has fared. So many failures in a row eject it for a time; after that the next failure ejects it
/// again, and an answer clears its record. Any thread; one per address.
/// </summary>
/// <param name="url">Without a trailing slash.</param>
/// <param name="ejectAfter">Failures in a row; <see langword="null"/>: never ejected.</param>
/// <param name="ejectTime">How long.</param>
/// <param name="time">Clock of the ejection.</param>
internal sealed class OriginReplica(string url, int? ejectAfter, TimeSpan ejectTime, TimeProvider time)
{
    private readonly Lock _lock = new();
    private int _failuresInARow;
    private long _failures;
    private long? _ejectedAt;

    public string Url => url;

    /// <summary>All failures so far.</summary>
    public long Failures => Volatile.Read(ref _failures);

    public bool IsEjected
    {
        get
        {
            lock (_lock)
            {
                return _ejectedAt is { } start && time.GetElapsedTime(start) < ejectTime;
            }
        }
    }

    public void Answered()
    {
        lock (_lock)
        {
            _failuresInARow = 0;
            _ejectedAt = null;
        }
    }

    /// <summary>True if this failure ejects it.</summary>
    public bool Failed()
    {
        lock (_lock)
        {
            _failures++;
            if (++_failuresInARow < ejectAfter.GetValueOrDefault(int.MaxValue))
            {
                return false;
            }

            bool wasEjected = IsEjected;
            _ejectedAt = time.GetTimestamp();
            return !wasEjected;
        }
    }
}
