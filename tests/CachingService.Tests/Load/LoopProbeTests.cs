using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Load;
using IoUringCache.Transport;

namespace CachingService.Tests.Load;

/// <summary>What one way round a loop measures, on a loop that the test turns by hand.</summary>
public sealed class LoopProbeTests
{
    private readonly FakeTime _time = new();
    private readonly HandTurnedLoop _loop = new();
    private readonly LoopProbe _probe;
    private int _target = 10;

    public LoopProbeTests()
    {
        _probe = new(_loop, () => TimeSpan.FromMilliseconds(_target), _time);
    }

    [Fact]
    public void Delay_IsWhatAWholeTurnTakes()
    {
        _probe.OnRequest();
        Turn(30);
        Turn(50);
        Assert.Equal(30, _probe.Delay.TotalMilliseconds);
        Assert.Equal(0, _loop.Waiting);
    }

    [Fact]
    public void OnRequest_OfManyAtATime_OneIsUnderWay()
    {
        for (int i = 0; i < 10; i++)
        {
            _probe.OnRequest();
            Assert.Equal(1, _loop.Waiting);
        }

        Turn(20);
        _probe.OnRequest();
        Assert.Equal(1, _loop.Waiting);
        Turn(0);
        Assert.Equal(0, _loop.Waiting);

        // Measured just now.
        _probe.OnRequest();
        Assert.Equal(0, _loop.Waiting);
        _time.Advance(TimeSpan.FromMilliseconds(1));
        _probe.OnRequest();
        Assert.Equal(1, _loop.Waiting);
    }

    [Fact]
    public void Step_LoopIsLateAndThenNot_RisesAndFalls()
    {
        Measure(25, times: 8);
        Assert.Equal(LoadStep.NoNewWaiters, _probe.Step);
        Assert.True(_probe.IsLateFor(LoadStep.NoNewWaiters));
        Assert.False(_probe.IsLateFor(LoadStep.NoNewConnections));
        Measure(1, times: 300);
        Assert.Equal(LoadStep.Normal, _probe.Step);
    }

    [Fact]
    public void OnRequest_SaysTheStep()
    {
        Measure(25, times: 8);
        Assert.Equal(LoadStep.NoNewWaiters, _probe.OnRequest());
        Turn(25);
        Turn(25);
        _time.Advance(TimeSpan.FromMilliseconds(501));
        Assert.Equal(LoadStep.Normal, _probe.OnRequest());
    }

    [Fact]
    public void Target_ThatChanges_CountsForTheDelaysThatWereMeasured()
    {
        Measure(25, times: 8);
        _target = 30;
        Assert.False(_probe.IsLateFor(LoadStep.NoNewFills));
        Measure(14, times: 20);
        Assert.Equal(LoadStep.Normal, _probe.Step);
    }

    [Fact]
    public void Step_NobodyAsksForAWhile_IsForgotten()
    {
        Measure(90, times: 8);
        Assert.Equal(LoadStep.HalfOfRequests, _probe.Step);
        _time.Advance(TimeSpan.FromMilliseconds(501));
        Assert.Equal(LoadStep.Normal, _probe.Step);

        // And what is measured then begins a new window.
        Measure(90, times: 1);
        Assert.Equal(LoadStep.Normal, _probe.Step);
    }

    /// <summary>A loop that is so late that it has not come round for long is not one that nobody has asked.</summary>
    [Fact]
    public void Step_WayRoundIsNotAtItsEnd_Stays()
    {
        Measure(90, times: 8);
        _time.Advance(TimeSpan.FromMilliseconds(2));
        _probe.OnRequest();
        _time.Advance(TimeSpan.FromSeconds(5));
        Assert.Equal(LoadStep.HalfOfRequests, _probe.Step);
    }

    private void Measure(int milliseconds, int times)
    {
        for (int i = 0; i < times; i++)
        {
            _time.Advance(TimeSpan.FromMilliseconds(1));
            _probe.OnRequest();
            Turn(milliseconds);
            Turn(milliseconds);
        }
    }

    /// <summary>What is ready runs, and then the rest of the turn takes its time.</summary>
    private void Turn(int milliseconds)
    {
        _loop.Run();
        _time.Advance(TimeSpan.FromMilliseconds(milliseconds));
    }

    /// <summary>Runs what was scheduled before a turn when that comes.</summary>
    private sealed class HandTurnedLoop : IConnectionSchedulerFeature
    {
        private readonly Queue<LoopWorkItem> _ready = new();

        public int Waiting => _ready.Count;

        public void Schedule(ReadOnlySpan<LoopWorkItem> items)
        {
            foreach (LoopWorkItem item in items)
            {
                _ready.Enqueue(item);
            }
        }

        public void Run()
        {
            for (int left = _ready.Count; left > 0; left--)
            {
                _ready.Dequeue().Execute();
            }
        }
    }
}
