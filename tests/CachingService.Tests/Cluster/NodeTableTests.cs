using CachingService.Tests.Infrastructure;
using IoUringCache.Clustering;

namespace CachingService.Tests.Cluster;

/// <summary>Which nodes count, and for whom a purge waits.</summary>
public sealed class NodeTableTests
{
    private const long Log = 7;

    private readonly FakeTime _time = new();
    private readonly NodeTable _table;

    public NodeTableTests() => _table = new(_time);

    [Fact]
    public async Task Wait_EndsWhenAllHaveSaidThatTheyHaveIt()
    {
        Hear("me", 4);
        Hear("other", 4);
        Task<IReadOnlyList<string>> wait = _table.WaitAsync(5, Log, "me", TimeSpan.FromSeconds(5));
        Hear("me", 5);
        Assert.False(wait.IsCompleted);

        Hear("other", 5);

        Assert.Empty(await wait.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken));
    }

    [Fact]
    public async Task Wait_ForANodeThatSaysNothing_EndsWithItsName()
    {
        Hear("me", 5);
        Hear("other", 4);
        Task<IReadOnlyList<string>> wait = _table.WaitAsync(5, Log, "me", TimeSpan.FromSeconds(5));

        _time.Advance(TimeSpan.FromSeconds(5));

        Assert.Equal(["other"], await wait.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken));
    }

    /// <summary>What others have said before may not have been heard yet.</summary>
    [Fact]
    public async Task Wait_UntilThisNodeWasHeard_GoesOn()
    {
        Task<IReadOnlyList<string>> wait = _table.WaitAsync(5, Log, "me", TimeSpan.FromSeconds(5));
        Hear("other", 5);

        _time.Advance(TimeSpan.FromSeconds(5));

        Assert.Equal(["me"], await wait.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken));
    }

    [Theory]
    [InlineData(20, true)]
    [InlineData(21, false)]
    public void Node_CountsForTwiceItsLongestSilence(int seconds, bool counts)
    {
        Hear("other", 1);

        _time.Advance(TimeSpan.FromSeconds(seconds));

        Assert.Equal(counts, _table.Live.Count == 1);
    }

    [Fact]
    public void OfTwoProcessesOfOneName_TheLaterOneCounts()
    {
        Assert.True(_table.Hear(Report("n", "old", started: 1, applied: 1)));
        Assert.True(_table.Hear(Report("n", "new", started: 2, applied: 2)));

        Assert.False(_table.Hear(Report("n", "old", started: 1, applied: 3)));

        Assert.Equal("new", Assert.Single(_table.Live).Instance);
        _table.Remove("old");
        Assert.Single(_table.Live);
        _table.Remove("new");
        Assert.Empty(_table.Live);
    }

    /// <summary>A log that is made anew numbers from 1 again, and not all find out at once.</summary>
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Wait_ForANodeThatCountsInAnotherLog_GoesOnUntilItCountsInThisOne(bool isForShields)
    {
        HearInLog("me", Log);
        HearInLog("shield", log: 6);
        Task wait = isForShields
            ? _table.WaitForShieldsAsync(5, Log, "me", TimeSpan.FromSeconds(1), TestContext.Current.CancellationToken)
            : _table.WaitAsync(5, Log, "me", TimeSpan.FromSeconds(5));
        HearInLog("me", Log);
        Assert.False(wait.IsCompleted);

        HearInLog("shield", Log);

        await wait.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
    }

    [Fact]
    public async Task WaitForShields_EndsWhenTheyHaveIt_WhateverOthersHave()
    {
        HearShielded("me", received: 5);
        HearShielded("another", received: 4);
        Hear("shield", 4);
        Task wait = _table.WaitForShieldsAsync(5, Log, "me", TimeSpan.FromSeconds(1), TestContext.Current.CancellationToken);
        HearShielded("another", received: 5);
        Assert.False(wait.IsCompleted);

        Hear("shield", 5);

        await wait.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
    }

    /// <summary>What shields have said before may not have been heard yet.</summary>
    [Fact]
    public async Task WaitForShields_UntilThisNodeWasHeard_GoesOn()
    {
        HearShielded("me", received: 4);
        Hear("shield", 5);
        Task wait = _table.WaitForShieldsAsync(5, Log, "me", TimeSpan.FromSeconds(1), TestContext.Current.CancellationToken);
        Assert.False(wait.IsCompleted);

        HearShielded("me", received: 5);

        await wait.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task WaitForShields_ThatAreGone_Ends(bool hasLeft)
    {
        HearShielded("me", received: 5);
        Hear("shield", 4);
        Task wait = _table.WaitForShieldsAsync(5, Log, "me", TimeSpan.FromSeconds(1), TestContext.Current.CancellationToken);
        Assert.False(wait.IsCompleted);

        if (hasLeft)
        {
            _table.Remove("shield");
        }
        else
        {
            _time.Advance(TimeSpan.FromSeconds(15));
            HearShielded("me", received: 5);
            await Eventually.TrueAsync(() => _time.DueWithin(TimeSpan.FromSeconds(1)), "it looks again");
            _time.Advance(TimeSpan.FromSeconds(6));
        }

        await wait.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
    }

    private void HearShielded(string name, long received) =>
        Assert.True(_table.Hear(Report(name, name, started: 1, applied: 0, received, hasShields: true)));

    private void Hear(string name, long applied) => Assert.True(_table.Hear(Report(name, name, started: 1, applied)));

    private void HearInLog(string name, long log) => Assert.True(_table.Hear(Report(name, name, started: 1, applied: 5, received: 5) with { Log = log }));

    private static NodeReport Report(string name, string instance, long started, long applied, long received = 0, bool hasShields = false) =>
        new(name, instance, started, ClusterState.Following, received, applied, hasShields, MaxSilence: 10, default);
}
