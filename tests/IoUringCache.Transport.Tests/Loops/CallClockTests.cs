using System.Diagnostics;
using IoUringCache.Transport.Internal.Scheduling;

namespace IoUringCache.Transport.Tests.Loops;

/// <summary>When a call into application code has been seen for too long, by a clock that the test winds.</summary>
public sealed class CallClockTests
{
    private const int Never = 1000;

    private static readonly long s_millisecond = Stopwatch.Frequency / 1000;

    [Theory]
    [InlineData(1, 2)]
    [InlineData(2, 1)]
    [InlineData(3, 1)]
    public void Call_SeenAtEveryTick_IsTooLongAtTheThreshold(int milliseconds, int ticks) =>
        Assert.Equal(ticks, TicksUntilTooLong(milliseconds * s_millisecond, _ => TimeSpan.Zero));

    [Fact]
    public void Calls_OneAfterTheOther_AreNeverTooLong() =>
        Assert.Equal(Never, TicksUntilTooLong(s_millisecond, _ => TimeSpan.Zero, call: tick => tick + 1));

    [Fact]
    public void Tick_WithCollections_DoesNotCount() =>
        Assert.Equal(5, TicksUntilTooLong(s_millisecond, tick => TimeSpan.FromMilliseconds(Math.Min(tick, 3))));

    [Fact]
    public void Ticks_AllWithCollections_CountByTheWall() =>
        Assert.Equal(50, TicksUntilTooLong(s_millisecond, tick => TimeSpan.FromMilliseconds(tick)));

    [Fact]
    public void Ticks_AllLate_CountByTheWall() =>
        Assert.Equal(10, TicksUntilTooLong(5 * s_millisecond, _ => TimeSpan.Zero));

    [Fact]
    public void Call_OfAnotherLoop_HasItsOwnTime()
    {
        CallClock clock = new(2);
        long now = 0;
        Tick();
        Assert.False(clock.IsTooLong(0, 1));
        Tick();
        Assert.False(clock.IsTooLong(0, 1));
        Assert.False(clock.IsTooLong(1, 1));
        Tick();
        Assert.True(clock.IsTooLong(0, 1));
        Assert.False(clock.IsTooLong(1, 1));

        void Tick() => clock.Tick(now += s_millisecond, TimeSpan.Zero);
    }

    /// <summary>The ticks after the one at which the call is first seen.</summary>
    private static int TicksUntilTooLong(long passing, Func<int, TimeSpan> pauses, Func<int, long>? call = null)
    {
        CallClock clock = new(1);
        for (int tick = 0; tick < Never; tick++)
        {
            clock.Tick((tick + 1) * passing, pauses(tick));
            if (clock.IsTooLong(0, call?.Invoke(tick) ?? 1))
            {
                return tick;
            }
        }

        return Never;
    }
}
