using System.Diagnostics;
using IoUringCache.Transport.Internal.Loops;

namespace IoUringCache.Transport.Tests.Loops;

/// <summary>When a call into application code has been seen for too long, by a clock that the test winds.</summary>
public sealed class CallClockTests
{
    private const int Never = 1000;

    private static readonly long s_millisecond = Stopwatch.Frequency / 1000;

    [Fact]
    public void Call_SeenAtEveryTick_IsTooLongAtTheThreshold() =>
        Assert.Equal(2, TicksUntil(CallLength.Long, s_millisecond, _ => TimeSpan.Zero));

    [Fact]
    public void Calls_OneAfterTheOther_AreNeverTooLong() =>
        Assert.Equal(Never, TicksUntil(CallLength.Long, s_millisecond, _ => TimeSpan.Zero, call: tick => tick + 1));

    [Fact]
    public void Tick_WithCollections_DoesNotCount() =>
        Assert.Equal(5, TicksUntil(CallLength.Long, s_millisecond, tick => TimeSpan.FromMilliseconds(Math.Min(tick, 3))));

    [Fact]
    public void Ticks_AllWithCollections_CountByTheWall() =>
        Assert.Equal(50, TicksUntil(CallLength.Long, s_millisecond, tick => TimeSpan.FromMilliseconds(tick)));

    [Fact]
    public void Ticks_AllLate_CountByTheWall() =>
        Assert.Equal(10, TicksUntil(CallLength.Long, 5 * s_millisecond, _ => TimeSpan.Zero));

    [Fact]
    public void Ticks_AllWithCollections_AreDoubtfulFromTheThresholdOn() =>
        Assert.Equal(2, TicksUntil(CallLength.Doubtful, s_millisecond, tick => TimeSpan.FromMilliseconds(tick)));

    [Fact]
    public void Tick_Late_IsDoubtful() =>
        Assert.Equal(1, TicksUntil(CallLength.Doubtful, 5 * s_millisecond, _ => TimeSpan.Zero));

    [Fact]
    public void Calls_OneAfterTheOther_AreNeverDoubtful() =>
        Assert.Equal(Never, TicksUntil(CallLength.Doubtful, 5 * s_millisecond, _ => TimeSpan.Zero, call: tick => tick + 1));

    [Fact]
    public void Call_OfAnotherLoop_HasItsOwnTime()
    {
        CallClock clock = new(2);
        long now = 0;
        Tick();
        Assert.Equal(CallLength.Short, clock.Judge(0, 1));
        Tick();
        Assert.Equal(CallLength.Short, clock.Judge(0, 1));
        Assert.Equal(CallLength.Short, clock.Judge(1, 1));
        Tick();
        Assert.Equal(CallLength.Long, clock.Judge(0, 1));
        Assert.Equal(CallLength.Short, clock.Judge(1, 1));

        void Tick() => clock.Tick(now += s_millisecond, TimeSpan.Zero);
    }

    /// <summary>The ticks after the one at which the call is first seen.</summary>
    private static int TicksUntil(CallLength wanted, long passing, Func<int, TimeSpan> pauses, Func<int, long>? call = null)
    {
        CallClock clock = new(1);
        for (int tick = 0; tick < Never; tick++)
        {
            clock.Tick((tick + 1) * passing, pauses(tick));
            if (clock.Judge(0, call?.Invoke(tick) ?? 1) >= wanted)
            {
                return tick;
            }
        }

        return Never;
    }
}
