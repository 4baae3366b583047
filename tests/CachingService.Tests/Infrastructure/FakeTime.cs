namespace CachingService.Tests.Infrastructure;

/// <summary>A clock that moves only when a test says so; timers fire inside <see cref="Advance"/>.</summary>
internal sealed class FakeTime : TimeProvider
{
    private readonly Lock _lock = new();
    private readonly List<FakeTimer> _timers = [];
    private readonly DateTimeOffset _start = new(2030, 1, 1, 0, 0, 0, TimeSpan.Zero);
    private TimeSpan _elapsed;

    public override long TimestampFrequency => TimeSpan.TicksPerSecond;

    public override DateTimeOffset GetUtcNow() => _start + Elapsed;

    public override long GetTimestamp() => Elapsed.Ticks;

    public TimeSpan Elapsed
    {
        get
        {
            lock (_lock)
            {
                return _elapsed;
            }
        }
    }

    /// <summary>Timers that are set, without those that come again and again: nobody waits for them.</summary>
    public int ArmedTimers
    {
        get
        {
            lock (_lock)
            {
                return _timers.Count(timer => timer.Due is not null && !timer.IsPeriodic);
            }
        }
    }

    /// <summary>Whether a timer is set that ends in no more than this.</summary>
    public bool DueWithin(TimeSpan span)
    {
        lock (_lock)
        {
            return _timers.Any(timer => timer.Due <= _elapsed + span && !timer.IsPeriodic);
        }
    }

    public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
    {
        FakeTimer timer = new(this, callback, state);
        lock (_lock)
        {
            _timers.Add(timer);
        }

        timer.Change(dueTime, period);
        return timer;
    }

    public void Advance(TimeSpan by)
    {
        List<FakeTimer> due;
        lock (_lock)
        {
            _elapsed += by;
            due = [.. _timers.Where(timer => timer.Due <= _elapsed)];
            due.ForEach(timer => timer.Due = timer.IsPeriodic ? _elapsed + timer.Period : null);
        }

        due.ForEach(timer => timer.Fire());
    }

    private sealed class FakeTimer(FakeTime time, TimerCallback callback, object? state) : ITimer
    {
        public TimeSpan? Due { get; set; }

        public TimeSpan Period { get; private set; } = Timeout.InfiniteTimeSpan;

        public bool IsPeriodic => Period != Timeout.InfiniteTimeSpan;

        public bool Change(TimeSpan dueTime, TimeSpan period)
        {
            lock (time._lock)
            {
                Period = period;
                Due = dueTime == Timeout.InfiniteTimeSpan ? null : time._elapsed + dueTime;
            }

            return true;
        }

        public void Fire() => callback(state);

        public void Dispose()
        {
            lock (time._lock)
            {
                time._timers.Remove(this);
            }
        }

        public ValueTask DisposeAsync()
        {
            Dispose();
            return ValueTask.CompletedTask;
        }
    }
}
