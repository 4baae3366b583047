using System.Diagnostics;
using IoUringCache.Transport.Internal.Loops;

namespace IoUringCache.Transport.Tests.Loops;

/// <summary>When a call into application code has run for too long, and when to look again, by a clock that the test winds.</summary>
public sealed class CallClockTests
{
    private const double Never = double.PositiveInfinity;

    private readonly CallClock _clock = new(2);
    private double _now = 1000;
    private double _pauses;

    public CallClockTests() => _clock.Begin(Ticks(_now), TimeSpan.Zero);

    /// <summary>Calls that begin at any time between two ticks.</summary>
    [Theory]
    [InlineData(0, 4)]
    [InlineData(1.9, 4)]
    [InlineData(2.1, 4.1)]
    [InlineData(3, 5)]
    [InlineData(3.4, 5.4)]
    [InlineData(3.6, 8)]
    public void Call_ThatGoesOn_IsTooLongWhenItIsSeenAtTheThreshold(double since, double expected) =>
        Assert.Equal(expected, TooLongAt(since), 3);

    [Fact]
    public void Calls_OneAfterTheOther_AreNeverTooLong_AndLookedAtSeldom()
    {
        for (int tick = 1; tick < 100; tick++)
        {
            Assert.Equal(4, _clock.UntilNextTick.TotalMilliseconds, 3);
            Assert.False(TickAndLook(call: tick, since: _now + 3.9));
        }
    }

    [Fact]
    public void Call_AfterOneThatWasTooLong_IsLookedAtSoon()
    {
        Assert.True(TickAndLook(call: 1, since: _now));
        double next = _now;
        Assert.Equal(2, _clock.UntilNextTick.TotalMilliseconds, 3);
        Assert.True(TickAndLook(call: 2, since: next));
        Assert.False(TickAndLook(call: 3, since: _now + 1.9));
        Assert.Equal(4, _clock.UntilNextTick.TotalMilliseconds, 3);
    }

    /// <summary>The call might have run for 4 ms at the first tick, but for 3 of them nothing did; its next millisecond is its own.</summary>
    [Fact]
    public void Pause_OfTheCollector_IsNotTheCalls() => Assert.Equal(5, TooLongAt(since: 0, paused: tick => tick == 0 ? 3 : 0), 3);

    [Fact]
    public void Pause_BeforeTheCall_DoesNotCount()
    {
        TickAndLook(call: 1, since: _now + 3.9, paused: 3);
        Assert.Equal(8, TooLongAt(since: 4, call: 2), 3);
    }

    /// <summary>A millisecond of the call, 4 of nobody, another millisecond of the call.</summary>
    [Fact]
    public void Lateness_OfATick_IsNotTheCalls() => Assert.Equal(9, TooLongAt(since: 3, late: tick => tick == 0 ? 4 : 0), 3);

    [Fact]
    public void Lateness_ThatIsUsual_Counts() => Assert.Equal(7.9, TooLongAt(since: 3, late: tick => tick == 0 ? 3.9 : 0), 3);

    [Fact]
    public void Lateness_AndAPauseThatExplainsIt_AreLostOnce() =>
        Assert.Equal(9, TooLongAt(since: 3, paused: tick => tick == 0 ? 4 : 0, late: tick => tick == 0 ? 4 : 0), 3);

    [Fact]
    public void Calls_ThatNeverRun_AreTooLongByTheWall() => Assert.Equal(52, TooLongAt(since: 0, paused: _ => 4), 3);

    [Fact]
    public void Sleep_IsNotLost()
    {
        _now += 60_000;
        _pauses += 100;
        _clock.Begin(Ticks(_now), TimeSpan.FromMilliseconds(_pauses));
        Assert.Equal(60_004, TooLongAt(since: 60_000), 3);
    }

    [Fact]
    public void Call_OfAnotherLoop_HasItsOwnTime()
    {
        Tick(paused: 3);
        Assert.False(_clock.IsTooLong(0, 1, Ticks(_now - 4)));
        Assert.Equal(1, _clock.UntilNextTick.TotalMilliseconds, 3);
        Assert.False(_clock.IsTooLong(1, 1, Ticks(_now - 3.1)));
        Assert.Equal(1, _clock.UntilNextTick.TotalMilliseconds, 3);
        Tick();
        Assert.True(_clock.IsTooLong(0, 1, Ticks(_now - 5)));
        Assert.False(_clock.IsTooLong(1, 1, Ticks(_now - 4.1)));
    }

    /// <summary>When one call is too long, in milliseconds from the clock's beginning.</summary>
    private double TooLongAt(double since, Func<int, double>? paused = null, Func<int, double>? late = null, long call = 1)
    {
        for (int tick = 0; tick < 100; tick++)
        {
            if (TickAndLook(call, 1000 + since, paused?.Invoke(tick) ?? 0, late?.Invoke(tick) ?? 0))
            {
                return _now - 1000;
            }
        }

        return Never;
    }

    private bool TickAndLook(long call, double since, double paused = 0, double late = 0)
    {
        Tick(paused, late);
        return _clock.IsTooLong(0, call, Ticks(since));
    }

    private void Tick(double paused = 0, double late = 0)
    {
        _now += _clock.UntilNextTick.TotalMilliseconds + late;
        _pauses += paused;
        _clock.Tick(Ticks(_now), TimeSpan.FromMilliseconds(_pauses));
    }

    private static long Ticks(double milliseconds) => (long)Math.Round(milliseconds * Stopwatch.Frequency / 1000);
}
