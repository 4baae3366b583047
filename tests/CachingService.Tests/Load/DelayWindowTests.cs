using IoUringCache.Caching.Load;

namespace CachingService.Tests.Load;

/// <summary>When a loop counts as late, and when no more.</summary>
public sealed class DelayWindowTests
{
    private static readonly TimeSpan s_target = TimeSpan.FromMilliseconds(10);

    private readonly DelayWindow _window;
    private TimeSpan _target = s_target;
    private TimeSpan _now;

    public DelayWindowTests() => _window = new(() => _target);

    [Theory]
    [InlineData(9, nameof(LoadStep.Normal))]
    [InlineData(10, nameof(LoadStep.NoNewFills))]
    [InlineData(19, nameof(LoadStep.NoNewFills))]
    [InlineData(20, nameof(LoadStep.NoNewWaiters))]
    [InlineData(39, nameof(LoadStep.NoNewWaiters))]
    [InlineData(40, nameof(LoadStep.NoNewConnections))]
    [InlineData(80, nameof(LoadStep.HalfOfRequests))]
    [InlineData(100_000, nameof(LoadStep.HalfOfRequests))]
    public void Step_OfAWindow_FollowsTheShortestDelay(int milliseconds, string expected)
    {
        AddWindow(milliseconds);
        Assert.Equal(expected, _window.Step.ToString());
    }

    [Theory]
    [InlineData(80, 40, nameof(LoadStep.HalfOfRequests))]
    [InlineData(80, 39, nameof(LoadStep.NoNewConnections))]
    [InlineData(80, 20, nameof(LoadStep.NoNewConnections))]
    [InlineData(80, 19, nameof(LoadStep.NoNewWaiters))]
    [InlineData(80, 9, nameof(LoadStep.NoNewFills))]
    [InlineData(80, 4, nameof(LoadStep.Normal))]
    [InlineData(10, 5, nameof(LoadStep.NoNewFills))]
    [InlineData(10, 4, nameof(LoadStep.Normal))]
    [InlineData(5, 9, nameof(LoadStep.Normal))]
    [InlineData(10, 39, nameof(LoadStep.NoNewWaiters))]
    public void Step_AfterAnother_IsLeftBelowHalfOfWhereItBegan(int first, int second, string expected)
    {
        AddWindow(first);
        AddWindow(second);
        Assert.Equal(expected, _window.Step.ToString());
    }

    [Fact]
    public void Step_DelaysAroundAThreshold_DoesNotFlap()
    {
        AddWindow(11);
        for (int i = 0; i < 10; i++)
        {
            AddWindow(9);
            Assert.Equal(LoadStep.NoNewFills, _window.Step);
            AddWindow(11);
            Assert.Equal(LoadStep.NoNewFills, _window.Step);
        }
    }

    [Fact]
    public void Step_OneDelayOfAWindowIsShort_IsNormal()
    {
        for (int i = 0; i < 200; i++)
        {
            Add(i % 4 == 0 ? 1 : 90);
        }

        Assert.Equal(LoadStep.Normal, _window.Step);
    }

    /// <summary>A pause of the process, or a first request that is compiled.</summary>
    [Fact]
    public void Step_FewLongDelays_ProveNothing()
    {
        for (int i = 1; i < DelayWindow.LeastDelays; i++)
        {
            Add(500);
        }

        Assert.Equal(LoadStep.Normal, _window.Step);
        Add(500);
        Assert.Equal(LoadStep.HalfOfRequests, _window.Step);
    }

    [Fact]
    public void Step_ManyDelaysInLessThanAWindow_ProveNothing()
    {
        for (TimeSpan time = default; time < DelayWindow.Length - s_target; time += s_target)
        {
            Add(10);
            Assert.Equal(LoadStep.Normal, _window.Step);
        }

        Add(10);
        Assert.Equal(LoadStep.NoNewFills, _window.Step);
    }

    [Fact]
    public void Clear_OfALateOne_IsNormalAndBeginsAnew()
    {
        AddWindow(80);
        Add(80);
        _window.Clear();
        Assert.Equal(LoadStep.Normal, _window.Step);
        for (int i = 1; i < DelayWindow.LeastDelays; i++)
        {
            Add(80);
        }

        Assert.Equal(LoadStep.Normal, _window.Step);
    }

    [Fact]
    public void Target_ThatChanges_IsThatOfTheNextWindow()
    {
        AddWindow(10);
        _target = 2 * s_target;
        Assert.Equal(LoadStep.NoNewFills, _window.Step);
        AddWindow(9);
        Assert.Equal(LoadStep.Normal, _window.Step);
        _target = TimeSpan.Zero;
        AddWindow(1000);
        Assert.Equal(LoadStep.Normal, _window.Step);
        _target = s_target;
        AddWindow(10);
        Assert.Equal(LoadStep.NoNewFills, _window.Step);
    }

    private void AddWindow(int milliseconds)
    {
        TimeSpan end = _now + DelayWindow.Length;
        for (int i = 0; i < DelayWindow.LeastDelays || _now < end; i++)
        {
            Add(milliseconds);
        }
    }

    /// <summary>One after the other, as they are measured.</summary>
    private void Add(int milliseconds)
    {
        _now += TimeSpan.FromMilliseconds(milliseconds);
        _window.Add(_now, TimeSpan.FromMilliseconds(milliseconds));
    }
}
