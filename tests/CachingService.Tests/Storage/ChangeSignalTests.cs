using System.Diagnostics;
using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Load;
using IoUringCache.Caching.Storage;
using IoUringCache.Transport;

namespace CachingService.Tests.Storage;

/// <summary>Waiting for changes: nobody sleeps through one, and waking many costs one call and no memory.</summary>
public sealed class ChangeSignalTests
{
    [Fact]
    public void Raise_WithManyWaiters_IsOneCallForEachScheduler()
    {
        (ChangeSignal signal, ManualScheduler first, ManualScheduler second) = (new(), new(), new());
        int woken = 0;
        for (int count = 0; count < 100; count++)
        {
            _ = CountChangesAsync(signal, count % 4 == 0 ? first : second, () => woken++, CancellationToken.None);
        }

        signal.Raise();

        Assert.Equal((1, 25, 1, 75, 0), (first.CallCount, first.Count, second.CallCount, second.Count, woken));
        second.RunAll();
        Assert.Equal(75, woken);
        signal.Raise();
        Assert.Equal((1, 25, 2, 75), (first.CallCount, first.Count, second.CallCount, second.Count));
    }

    [Fact]
    public async Task Raise_AfterTheLookAndBeforeTheWait_NeedsNoWait()
    {
        (ChangeSignal signal, ManualScheduler scheduler) = (new(), new());
        using ChangeWaiter waiter = new(signal, scheduler, CancellationToken.None);
        long seen = signal.Version;
        signal.Raise();

        Assert.True(waiter.WaitAsync(seen).AsTask().IsCompletedSuccessfully);
        Task<bool> next = waiter.WaitAsync(signal.Version).AsTask();
        Assert.False(next.IsCompleted);
        signal.Raise();
        scheduler.RunAll();
        Assert.True(await next);
    }

    [Fact]
    public async Task Waiter_Cancelled_IsWokenOnceAndNotByTheNextChange()
    {
        (ChangeSignal signal, ManualScheduler scheduler, CancellationTokenSource cancellation) = (new(), new(), new());
        using ChangeWaiter cancelled = new(signal, scheduler, cancellation.Token);
        using ChangeWaiter other = new(signal, scheduler, CancellationToken.None);
        Task<bool> wait = cancelled.WaitAsync(signal.Version).AsTask();
        Task<bool> othersWait = other.WaitAsync(signal.Version).AsTask();

        await cancellation.CancelAsync();
        Assert.Equal(1, scheduler.Count);
        signal.Raise();
        Assert.Equal(2, scheduler.Count);
        scheduler.RunAll();

        Assert.True(await wait);
        Assert.True(await othersWait);
        await Assert.ThrowsAsync<TaskCanceledException>(() => cancelled.WaitAsync(signal.Version).AsTask());
        signal.Raise();
        Assert.Equal(0, scheduler.Count);
    }

    /// <summary>
    /// Sooner or later: the runtime compiles code that is used much again, more than once, and its first versions may put values into boxes.
    /// When it comes to that is up to the machine. A change that costs memory by itself does so every time.
    /// </summary>
    [Fact]
    public void Changes_ForWaitersThatAreThere_CostNoMemory()
    {
        (ChangeSignal signal, ManualScheduler scheduler) = (new(), new());
        int woken = 0;
        for (int count = 0; count < 50; count++)
        {
            _ = CountChangesAsync(signal, scheduler, () => woken++, CancellationToken.None);
        }

        Stopwatch elapsed = Stopwatch.StartNew();
        int changes = 0;
        long cost;
        do
        {
            long before = GC.GetAllocatedBytesForCurrentThread();
            for (int change = 0; change < 1_000; change++)
            {
                signal.Raise();
                scheduler.RunAll();
            }

            cost = GC.GetAllocatedBytesForCurrentThread() - before;
            changes += 1_000;
        }
        while (cost != 0 && elapsed.Elapsed < Patience.Limit);

        Assert.Equal(0, cost);
        Assert.Equal(50 * changes, woken);
    }

    [Theory]
    [InlineData(21)]
    [InlineData(22)]
    [InlineData(23)]
    [InlineData(24)]
    public async Task Waiters_OnManyThreads_MissNoChangeAndLeaveWhenCancelled(int seed)
    {
        Random random = new(seed);
        for (int round = 0; round < 50; round++)
        {
            (ChangeSignal signal, int changes, int state) = (new(), random.Next(1, 200), 0);
            List<Task> readers = new();
            List<CancellationTokenSource> cancellations = new();
            for (int count = 0; count < 20; count++)
            {
                // Every fourth is cancelled at some moment, the others must see the last change.
                CancellationTokenSource cancellation = new();
                Task reader = FollowAsync(signal, () => Volatile.Read(ref state), changes, cancellation.Token);
                readers.Add(count % 4 == 0 ? IgnoreCancellationAsync(reader) : reader);
                if (count % 4 == 0)
                {
                    cancellations.Add(cancellation);
                }
            }

            Task cancelling = CancelAsync(cancellations);
            for (int change = 1; change <= changes; change++)
            {
                Volatile.Write(ref state, change);
                signal.Raise();
                if (random.Next(3) == 0)
                {
                    await Task.Yield();
                }
            }

            await cancelling.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
            foreach (Task reader in readers)
            {
                await reader.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
            }
        }
    }

    private static async Task FollowAsync(ChangeSignal signal, Func<int> look, int last, CancellationToken cancelled)
    {
        await Task.Yield();
        using ChangeWaiter waiter = new(signal, ThreadPoolScheduler.Instance, cancelled);
        while (true)
        {
            long seen = signal.Version;
            if (look() == last)
            {
                return;
            }

            await waiter.WaitAsync(seen);
        }
    }

    private static async Task CancelAsync(List<CancellationTokenSource> cancellations)
    {
        await Task.Yield();
        cancellations.ForEach(cancellation => cancellation.Cancel());
    }

    private static async Task IgnoreCancellationAsync(Task task)
    {
        try
        {
            await task;
        }
        catch (OperationCanceledException)
        {
            // As asked.
        }
    }

    private static async Task CountChangesAsync(ChangeSignal signal, IConnectionSchedulerFeature scheduler, Action woken, CancellationToken cancelled)
    {
        using ChangeWaiter waiter = new(signal, scheduler, cancelled);
        while (await waiter.WaitAsync(signal.Version))
        {
            woken();
        }
    }
}
