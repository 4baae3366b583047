using System.Diagnostics;
using IoUringCache.Transport.Internal.Scheduling;
using IoUringCache.Transport.Tests.Support;

namespace IoUringCache.Transport.Tests.Loops;

/// <summary>Threads for application code that blocks.</summary>
public sealed class HandlerThreadsTests
{
    [Fact]
    public async Task Calls_BlockUpToTheLimit_EachHasAThreadOfItsOwn()
    {
        const int Limit = 600;
        using HandlerThreads threads = new(Limit);
        BlockingCall[] calls = [.. Enumerable.Range(0, Limit).Select(_ => new BlockingCall())];
        Array.ForEach(calls, threads.Run);
        int[] ids = await Task.WhenAll(calls.Select(call => call.Entered)).InTime();
        Assert.Equal(Limit, ids.Distinct().Count());

        Array.ForEach(calls, call => call.Release());
        await Task.WhenAll(calls.Select(call => call.Left)).InTime();
        Array.ForEach(calls, call => call.Dispose());
    }

    [Fact]
    public async Task Calls_BlockBeyondTheLimit_WaitForAThreadAndNotForThePool()
    {
        const int Limit = 4;
        using HandlerThreads threads = new(Limit);
        BlockingCall[] calls = [.. Enumerable.Range(0, Limit).Select(_ => new BlockingCall())];
        Array.ForEach(calls, threads.Run);
        int[] ids = await Task.WhenAll(calls.Select(call => call.Entered)).InTime();

        ThreadRecorder beyond = new();
        threads.Run(beyond);
        Array.ForEach(calls, call => call.Release());

        // Not on the pool, nor on a fifth thread.
        Assert.Contains(await beyond.Ran.InTime(), ids);
        Assert.False(beyond.WasOnPool);
        await Task.WhenAll(calls.Select(call => call.Left)).InTime();
        Array.ForEach(calls, call => call.Dispose());
    }

    [Fact]
    public async Task Calls_KnownToBlock_DoNotHoldUpOthers()
    {
        const int Limit = 2;
        using HandlerThreads threads = new(Limit);
        BlockingCall[] calls = [.. Enumerable.Range(0, 2 * Limit).Select(_ => new BlockingCall())];
        foreach (BlockingCall call in calls)
        {
            call.MarkBlocking();
            threads.Run(call);
        }

        await Task.WhenAll(calls[..Limit].Select(call => call.Entered)).InTime();
        ThreadRecorder other = new();
        threads.Run(other);
        await other.Ran.InTime();
        Assert.False(other.WasOnPool);

        Array.ForEach(calls, call => call.Release());
        await Task.WhenAll(calls.Select(call => call.Left)).InTime();
        Array.ForEach(calls, call => call.Dispose());
    }

    /// <summary>Two calls that wait for a third one, which has no thread left.</summary>
    [Fact]
    public async Task Calls_KeepAllThreadsForHalfASecond_OneMoreIsMade()
    {
        const int Limit = 2;
        long halfASecond = Stopwatch.Frequency / 2;
        using HandlerThreads threads = new(Limit);
        using BlockingCall first = new();
        using BlockingCall second = new();
        threads.Run(first);
        threads.Run(second);
        int[] ids = await Task.WhenAll(first.Entered, second.Entered).InTime();
        Assert.False(threads.Relieve(now: 0));

        ThreadRecorder third = new();
        threads.Run(third);
        Assert.True(threads.Relieve(halfASecond - 1));
        Assert.False(third.Ran.IsCompleted);
        Assert.True(threads.Relieve(halfASecond));
        Assert.DoesNotContain(await third.Ran.InTime(), ids);
        Assert.False(third.WasOnPool);
        Assert.False(threads.Relieve(halfASecond + 1));

        first.Release();
        second.Release();
        await Task.WhenAll(first.Left, second.Left).InTime();
    }

    [Fact]
    public async Task Calls_FromManyThreads_AllRun()
    {
        const int Count = 20_000;
        using HandlerThreads threads = new();
        using CountdownEvent left = new(Count);
        SignallingCall call = new(left);
        await Task.WhenAll(Enumerable.Range(0, 4).Select(_ => Task.Run(() =>
        {
            for (int i = 0; i < Count / 4; i++)
            {
                threads.Run(call);
            }
        }))).InTime();
        Assert.True(await Task.Run(() => left.Wait(Deadline.Limit)).InTime());
    }

    [Fact]
    public async Task Call_AfterTheEnd_RunsNevertheless()
    {
        HandlerThreads threads = new();
        threads.Dispose();
        ThreadRecorder recorder = new();
        threads.Run(recorder);
        await recorder.Ran.InTime();
    }
}
