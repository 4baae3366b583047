using System.Collections.Concurrent;

namespace IoUringCache.Transport.Tests.Support;

/// <summary>Timers that come due when the test says so. Any thread.</summary>
internal sealed class ManualTime : TimeProvider
{
    private readonly ConcurrentDictionary<ManualTimer, bool> _timers = new();

    /// <summary>Timers that were made and not disposed yet.</summary>
    internal int TimerCount => _timers.Count;

    public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
    {
        ManualTimer timer = new(this, callback, state);
        _timers[timer] = true;
        return timer;
    }

    /// <summary>Lets the period of every timer pass once.</summary>
    internal void PassPeriod()
    {
        foreach (ManualTimer timer in _timers.Keys)
        {
            timer.Callback(timer.State);
        }
    }

    private sealed class ManualTimer(ManualTime time, TimerCallback callback, object? state) : ITimer
    {
        internal TimerCallback Callback => callback;

        internal object? State => state;

        public bool Change(TimeSpan dueTime, TimeSpan period) => throw new NotSupportedException();

        public void Dispose() => time._timers.TryRemove(this, out _);

        public ValueTask DisposeAsync()
        {
            Dispose();
            return ValueTask.CompletedTask;
        }
    }
}
