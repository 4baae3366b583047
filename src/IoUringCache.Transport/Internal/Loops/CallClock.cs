using System.Diagnostics;

namespace IoUringCache.Transport.Internal.Loops;

/// <summary>
/// How long each loop's call into application code has been seen to run. A tick counts only if nothing but the call can have taken its
/// time: not if the garbage collector paused all threads meanwhile, nor if the watchdog itself came late, for then the call may have been
/// kept from running as well. A call that is still there after 50 ms has been there for too long in any case: neither
/// collections without end nor a busy machine may keep a blocked loop blocked. The watchdog's thread; owned by it.
/// </summary>
/// <param name="loopCount">How many loops there are; they are known by index.</param>
internal sealed class CallClock(int loopCount)
{
    /// <summary>What a call may take, in ticks of <see cref="Stopwatch"/>: 2 ms.</summary>
    private static readonly long s_threshold = Stopwatch.Frequency / 500;

    /// <summary>What a call may take by the clock on the wall: 50 ms.</summary>
    private static readonly long s_limit = Stopwatch.Frequency / 20;

    /// <summary>A tick that came so long after the one before, 5 ms, came late.</summary>
    private static readonly long s_late = Stopwatch.Frequency / 200;

    private readonly long[] _calls = new long[loopCount];
    private readonly long[] _since = new long[loopCount];
    private readonly long[] _counted = new long[loopCount];
    private TimeSpan _pauses;
    private long _now;
    private long _tick;

    /// <summary>A tick.</summary>
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
