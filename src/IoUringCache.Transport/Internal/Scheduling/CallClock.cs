using System.Diagnostics;

namespace IoUringCache.Transport.Internal.Scheduling;

/// <summary>
/// Measures how long each loop's call into application code has run. Ticks that came late, or in which the garbage
/// collector paused the threads, do not count, because the call may not have run either; after 50 ms a call is too long
/// in any case. Watchdog's thread only; owned by the watchdog.
/// </summary>
/// <param name="loopCount">How many loops there are; they are known by index.</param>
internal sealed class CallClock(int loopCount)
{
    /// <summary>What a call may take, in ticks of <see cref="Stopwatch"/>: 2 ms.</summary>
    private static readonly long s_threshold = Stopwatch.Frequency / 500;

    /// <summary>What a call may take by the wall clock: 50 ms.</summary>
    private static readonly long s_limit = Stopwatch.Frequency / 20;

    /// <summary>A tick came late if this much time has passed since the one before: 5 ms.</summary>
    private static readonly long s_late = Stopwatch.Frequency / 200;

    private readonly long[] _calls = new long[loopCount];
    private readonly long[] _since = new long[loopCount];
    private readonly long[] _counted = new long[loopCount];
    private TimeSpan _pauses;
    private long _now;
    private long _tick;

    /// <param name="now">The time, as <see cref="Stopwatch"/> counts it.</param>
    /// <param name="pauses">For how long the garbage collector has paused threads so far.</param>
    internal void Tick(long now, TimeSpan pauses)
    {
        long passed = now - _now;
        _tick = passed >= s_late || pauses != _pauses ? 0 : passed;
        (_now, _pauses) = (now, pauses);
    }

    /// <summary>Whether a call that was seen at this tick has been seen for too long.</summary>
    internal bool IsTooLong(int loop, long call)
    {
        if (call != _calls[loop])
        {
            (_calls[loop], _since[loop], _counted[loop]) = (call, _now, 0);
            return false;
        }

        _counted[loop] += _tick;
        return _counted[loop] >= s_threshold || _now - _since[loop] >= s_limit;
    }
}
