using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Load;
using IoUringCache.Transport;

namespace CachingService.Tests.Serving;

/// <summary>Those who catch up run in their order, a few in each turn of their scheduler, and none is forgotten.</summary>
public sealed class CatchUpQueueTests
{
    private const int AtOnce = 8;

    [Fact]
    public void Turn_RunsAFewAndWhatIsLive()
    {
        TurnScheduler scheduler = new();
        CatchUpQueue queue = new(scheduler);
        List<int> ran = [];
        for (int index = 0; index < (3 * AtOnce) + 1; index++)
        {
            queue.Schedule([new Item(ran, index)]);
        }

        scheduler.RunTurn(); // The queue's own.
        foreach (int expected in (int[])[AtOnce, AtOnce, AtOnce, 1, 0])
        {
            int before = ran.Count;
            scheduler.Schedule([new Item(ran, -1)]); // Live, and behind those who have been handed out.
            scheduler.RunTurn();
            Assert.Equal(expected + 1, ran.Count - before);
        }

        Assert.Equal(Enumerable.Range(0, (3 * AtOnce) + 1), ran.Where(index => index >= 0));
        Assert.True(scheduler.IsIdle);
    }

    [Fact]
    public void Item_ThatComesBackWhenItHasRun_WaitsBehindTheOthers()
    {
        TurnScheduler scheduler = new();
        CatchUpQueue queue = new(scheduler);
        List<int> ran = [];
        queue.Schedule([new Item(ran, 1, item => queue.Schedule([item])), new Item(ran, 2)]);

        scheduler.RunTurn();
        scheduler.RunTurn();
        queue.Schedule([new Item(ran, 3)]);
        scheduler.RunTurn();
        scheduler.RunTurn();

        Assert.Equal([1, 2, 1, 3], ran);
    }

    [Fact]
    public async Task Threads_WhichAddAndRun_ForgetNone()
    {
        const int Threads = 4;
        const int Items = 20_000;
        CatchUpQueue queue = new(ThreadPoolScheduler.Instance);
        int ran = 0;
        TaskCompletionSource all = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await Task.WhenAll(Enumerable.Range(0, Threads).Select(_ => Task.Run(() =>
        {
            for (int index = 0; index < Items; index++)
            {
                queue.Schedule([new Item([], index, _ =>
                {
                    if (Interlocked.Increment(ref ran) == Threads * Items)
                    {
                        all.SetResult();
                    }
                })]);
            }
        }))).WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);

        await all.Task.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
    }

    private sealed class Item(List<int> ran, int number, Action<LoopWorkItem>? then = null) : LoopWorkItem
    {
        public override void Execute()
        {
            ran.Add(number);
            then?.Invoke(this);
        }
    }

    /// <summary>As an event loop: what becomes ready in a turn waits for the next one.</summary>
    private sealed class TurnScheduler : IConnectionSchedulerFeature
    {
        private readonly Queue<LoopWorkItem> _ready = new();

        public bool IsIdle => _ready.Count == 0;

        public void Schedule(ReadOnlySpan<LoopWorkItem> items)
        {
            foreach (LoopWorkItem item in items)
            {
                _ready.Enqueue(item);
            }
        }

        public void RunTurn()
        {
            for (int left = _ready.Count; left > 0; left--)
            {
                _ready.Dequeue().Execute();
            }
        }
    }
}
