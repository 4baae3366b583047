using System.Diagnostics;

namespace IoUringCache.Transport.Internal.Loops;

/// <summary>
/// How long each loop's call into application code has run, and when to look again. Time in which the garbage collector paused all
/// threads, or by which the watchdog itself came much too late, is not the call's: it may have been kept from running as well. A call
/// that is still there after 50 ms has been there for too long in any case: neither collections without end nor a busy machine may keep a
/// blocked loop blocked. The watchdog's thread; owned by it. Times and durations are in ticks of <see cref="Stopwatch"/>.
/// </summary>
/// <remarks>
/// A tick costs two context switches and a timer, 30 to 60 µs in a virtual machine, so there are few of them: one that sees a call knows
/// how old that is, and only one that has begun to be long is looked at again before the interval is over. A call that is too long has
/// its loop for 2 to 4.5 ms therefore.
/// </remarks>
/// <param name="loopCount">How many loops there are; they are known by index.</param>
internal sealed class CallClock(int loopCount)
{
    /// <summary>Between two ticks that saw nothing: 4 ms.</summary>
    private static readonly long s_interval = Stopwatch.Frequency / 250;

    /// <summary>A call as old as this, 0.5 ms, has begun to be long: hardly any is, however busy the loop.</summary>
    private static readonly long s_doubtful = Stopwatch.Frequency / 2000;

    /// <summary>What a call may take: 2 ms.</summary>
    private static readonly long s_threshold = Stopwatch.Frequency / 500;

    /// <summary>What a call may take by the clock on the wall: 50 ms.</summary>
    private static readonly long s_limit = Stopwatch.Frequency / 20;

    /// <summary>A tick this late, 4 ms, came too late; one that is less so has only waited for its turn on a busy processor.</summary>
    private static readonly long s_late = Stopwatch.Frequency / 250;

    private readonly long[] _calls = new long[loopCount];

    /// <summary>What <see cref="_lost"/> was before each loop's call began, or earlier.</summary>
    private readonly long[] _lostBefore = new long[loopCount];

    private TimeSpan _pauses;
    private long _now;
    private long _untilNext = s_interval;

    /// <summary>Time that was no call's: all of it, and all of it up to the tick before this one.</summary>
    private long _lost;
    private long _lostAtLastTick;

    /// <summary>How long to wait for the next tick.</summary>
    internal TimeSpan UntilNextTick => Stopwatch.GetElapsedTime(0, _untilNext);

    /// <summary>Begins to count: what was before is not time that was lost.</summary>
    /// <param name="now">The time.</param>
    /// <param name="pauses">For how long the garbage collector has paused threads so far.</param>
    internal void Begin(long now, TimeSpan pauses)
    {
        (_now, _pauses) = (now, pauses);
        _untilNext = s_interval;
    }

    /// <summary>A tick.</summary>
    /// <inheritdoc cref="Begin"/>
    internal void Tick(long now, TimeSpan pauses)
    {
        long late = now - (_now + _untilNext);
        long paused = (long)((pauses - _pauses).TotalSeconds * Stopwatch.Frequency);
        _lostAtLastTick = _lost;
        _lost += Math.Max(late < s_late ? 0 : late, paused);
        Begin(now, pauses);
    }

    /// <summary>Whether a call that was seen at this tick has run for too long.</summary>
    /// <param name="loop">Whose.</param>
    /// <param name="call">Its number, never used again by this loop.</param>
    /// <param name="since">When it began.</param>
    internal bool IsTooLong(int loop, long call, long since)
    {
        if (call != _calls[loop])
        {
            (_calls[loop], _lostBefore[loop]) = (call, _lostAtLastTick);
        }

        long passed = _now - since;
        long own = passed - (_lost - _lostBefore[loop]);
        if (own >= s_threshold || passed >= s_limit)
        {
            _untilNext = Math.Min(_untilNext, s_threshold); // The next in the queue may be alike.
            return true;
        }

        if (own >= s_doubtful)
        {
            _untilNext = Math.Min(_untilNext, s_threshold - own);
        }

        return false;
    }
}
