namespace CachingService.Origins;

/// <summary>
/// Whether one address of the origin is asked at all. Any thread; owned by its replica.
/// <code>
///            failures in a row             time is over, and one request goes there
///   closed --------------------> open -------------------------------------------> half-open
///     ^                           ^                                                 |  |
///     |                           +------------- that request fails ----------------+  |
///     +------- any answer, that of a probe included -----------------------------------+
/// </code>
/// </summary>
/// <param name="breakAfter">Failures in a row; 0: it stays closed.</param>
/// <param name="breakTime">How long it is open.</param>
/// <param name="time">Clock of that.</param>
internal sealed class OriginCircuit(int breakAfter, TimeSpan breakTime, TimeProvider time)
{
    /// <summary>While somebody else tries whether it is back, and for the last moments.</summary>
    private static readonly TimeSpan s_shortestWait = TimeSpan.FromSeconds(1);

    private readonly Lock _lock = new();
    private int _failuresInARow;
    private long _failures;
    private long? _openedAt;
    private bool _isOnTrial;

    /// <summary>All failures so far.</summary>
    public long Failures => Volatile.Read(ref _failures);

    public bool IsClosed
    {
        get
        {
            lock (_lock)
            {
                return _openedAt is null;
            }
        }
    }

    /// <summary>When to ask again, for a request that was not let in.</summary>
    public TimeSpan RetryAfter
    {
        get
        {
            lock (_lock)
            {
                TimeSpan left = _openedAt is { } start ? breakTime - time.GetElapsedTime(start) : TimeSpan.Zero;
                return left > s_shortestWait ? left : s_shortestWait;
            }
        }
    }

    /// <summary>Whether a request may go.</summary>
    /// <param name="isTrial">It goes alone, to see whether the address is back: <see cref="EndTrial"/> must follow.</param>
    public bool TryEnter(out bool isTrial)
    {
        lock (_lock)
        {
            isTrial = _openedAt is { } start && !_isOnTrial && time.GetElapsedTime(start) >= breakTime;
            _isOnTrial |= isTrial;
            return isTrial || _openedAt is null;
        }
    }

    /// <summary>The request that went alone has been judged, or has ended without an answer or a failure.</summary>
    public void EndTrial()
    {
        lock (_lock)
        {
            _isOnTrial = false;
        }
    }

    public void Answered()
    {
        lock (_lock)
        {
            _failuresInARow = 0;
            _openedAt = null;
        }
    }

    /// <summary>True if this failure opens it.</summary>
    public bool Failed()
    {
        lock (_lock)
        {
            _failures++;
            _failuresInARow++;
            if (breakAfter == 0 || _failuresInARow < breakAfter)
            {
                return false;
            }

            // While it is open, those fail that were sent before; they say nothing new.
            bool opens = _openedAt is not { } start || time.GetElapsedTime(start) >= breakTime;
            _openedAt = opens ? time.GetTimestamp() : _openedAt;
            return opens;
        }
    }
}
