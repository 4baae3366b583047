namespace IoUringCache.Caching.Http1;

/// <summary>
/// When a wait on a connection is over. Its timer is set only where none is pending that ends early enough, so a wait that ends in time costs
/// no timer. Any thread; owned by its connection.
/// </summary>
/// <param name="time">Clock.</param>
/// <param name="passed">Called on a thread of the timer when the time is over.</param>
internal sealed class Deadline(TimeProvider time, Action passed) : IDisposable
{
    private readonly Lock _lock = new();
    private ITimer? _timer;
    private TimeSpan _limit;

    /// <summary>Time stamps; <see cref="long.MaxValue"/> for never.</summary>
    private long _due = long.MaxValue;
    private long _timerDue = long.MaxValue;
    private bool _isDisposed;

    public bool IsOver => time.GetTimestamp() >= Volatile.Read(ref _due);

    /// <param name="limit">From now on; also of each <see cref="Restart"/>.</param>
    public void Start(TimeSpan limit)
    {
        _limit = limit;
        Restart();
    }

    /// <summary>All of the time again.</summary>
    public void Restart()
    {
        double ticks = _limit.TotalSeconds * time.TimestampFrequency;
        long now = time.GetTimestamp();
        lock (_lock)
        {
            _due = ticks < long.MaxValue - now ? now + (long)ticks : long.MaxValue;
            if (_due < _timerDue && !_isDisposed)
            {
                SetTimer(now);
            }
        }
    }

    /// <summary>The wait has ended in time. The timer goes on: the next wait will hardly end before it.</summary>
    public void End() => Volatile.Write(ref _due, long.MaxValue);

    /// <summary>Takes the limit away, and the timer with it.</summary>
    public void Stop()
    {
        lock (_lock)
        {
            _due = long.MaxValue;
            if (_timerDue != long.MaxValue)
            {
                _timerDue = long.MaxValue;
                _timer?.Change(Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
            }
        }
    }

    public void Dispose()
    {
        lock (_lock)
        {
            _due = long.MaxValue;
            _isDisposed = true;
            _timer?.Dispose();
        }
    }

    /// <summary>Under the lock.</summary>
    private void SetTimer(long now)
    {
        const double LongestTimer = 40 * 24 * 3600.0; // Of a timer, in seconds; it then sets itself again.
        double seconds = Math.Min(LongestTimer, (_due - now) / (double)time.TimestampFrequency);

        // Not too early: a timer counts milliseconds.
        TimeSpan wait = TimeSpan.FromMilliseconds(Math.Ceiling(seconds * 1000));
        _timerDue = _due;
        if (_timer is null)
        {
            _timer = time.CreateTimer(static deadline => ((Deadline)deadline!).OnTimer(), this, wait, Timeout.InfiniteTimeSpan);
        }
        else
        {
            _timer.Change(wait, Timeout.InfiniteTimeSpan);
        }
    }

    private void OnTimer()
    {
        lock (_lock)
        {
            _timerDue = long.MaxValue;
            long now = time.GetTimestamp();
            if (_due > now)
            {
                if (_due != long.MaxValue && !_isDisposed)
                {
                    SetTimer(now);
                }

                return;
            }
        }

        passed();
    }
}
