namespace IoUringCache.Caching.Origins;

/// <summary>
/// Whether one address of the origin is asked at all. Any thread; owned by its replica.
/// <code>
///            failures in a row             time is over, and one request goes there
///   closed --------------------> open -------------------------------------------> half-open
///     ^                           ^                                                 |  |
///     |                           +------------- that request fails ----------------+  |
///     +------- any usable answer, that of a probe included ----------------------------+
/// </code>
/// There are two reasons to be open. An address that cannot be reached is left alone, and the next sign of life closes its circuit. One that
/// sends what is of no use is asked only where no other address is left, because it is there.
/// </summary>
/// <param name="breakAfter">Failures in a row; 0: it stays closed.</param>
/// <param name="breakTime">How long it is open.</param>
/// <param name="countsAnswers">Whether answers of no use count, and not only that there are none: where there is another address.</param>
/// <param name="time">Clock of that.</param>
internal sealed class OriginCircuit(int breakAfter, TimeSpan breakTime, bool countsAnswers, TimeProvider time)
{
    /// <summary>While another request tries whether the address is back, and for the last moments.</summary>
    private static readonly TimeSpan s_shortestWait = TimeSpan.FromSeconds(1);

    private readonly Lock _lock = new();
    private readonly FailureRun _unreachable = new();
    private readonly FailureRun _unusable = new();
    private long _failures;
    private long _heardAt = long.MinValue;
    private long? _openedAt;
    private bool _isUnreachable;
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

    /// <summary>Whether it is open because the address could not be reached.</summary>
    public bool IsUnreachable
    {
        get
        {
            lock (_lock)
            {
                return _openedAt is not null && _isUnreachable;
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
    /// <param name="isLastResort">No other address admits the request.</param>
    /// <param name="isTrial">It goes alone, to see whether the address is back: <see cref="EndTrial"/> must follow.</param>
    public bool TryEnter(bool isLastResort, out bool isTrial)
    {
        lock (_lock)
        {
            isTrial = _openedAt is { } start && !_isOnTrial && time.GetElapsedTime(start) >= breakTime;
            _isOnTrial |= isTrial;
            return isTrial || _openedAt is null || (isLastResort && !_isUnreachable);
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

    /// <summary>The address has sent what can be used.</summary>
    public void Answered()
    {
        lock (_lock)
        {
            Reached();
            _unusable.Clear();
            _openedAt = null;
        }
    }

    /// <summary>
    /// It was reached, and sent 502, 503, 504 or what cannot be used, or closed the connection. Counts once for each key. True if this opens
    /// the circuit.
    /// </summary>
    public bool AnsweredBadly(string key)
    {
        lock (_lock)
        {
            _failures++;
            if (_isUnreachable)
            {
                _openedAt = null;
            }

            Reached();
            return countsAnswers && Count(_unusable, key) && TryOpen(isUnreachable: false);
        }
    }

    /// <summary>It gave no sign of life. True if this opens the circuit.</summary>
    /// <param name="key">Where the key may have caused that, which then counts once; else <see langword="null"/>.</param>
    /// <param name="askedAt">Time stamp of the clock. What the address has sent to others since then is worth more.</param>
    public bool Failed(string? key, long askedAt)
    {
        lock (_lock)
        {
            _failures++;
            return _heardAt <= askedAt && Count(_unreachable, key) && TryOpen(isUnreachable: true);
        }
    }

    private void Reached()
    {
        _heardAt = time.GetTimestamp();
        _isUnreachable = false;
        _unreachable.Clear();
    }

    private bool Count(FailureRun run, string? key) => breakAfter > 0 && run.Add(key, breakAfter) >= breakAfter;

    private bool TryOpen(bool isUnreachable)
    {
        // While it is open, those fail that were sent before; they say nothing new.
        if (_openedAt is { } start && _isUnreachable == isUnreachable && time.GetElapsedTime(start) < breakTime)
        {
            return false;
        }

        (_openedAt, _isUnreachable) = (time.GetTimestamp(), isUnreachable);
        return true;
    }
}
