using IoUringCache.Transport.Internal.Loops;
using IoUringCache.Transport.Tests.Support;

namespace IoUringCache.Transport.Tests.Loops;

/// <summary>Threads for application code that blocks.</summary>
public sealed class HandlerThreadsTests
{
    private const int MaxThreads = 512;

    [Fact]
    public async Task Calls_BlockUpToTheLimit_OthersGoToTheThreadPool()
    {
        using HandlerThreads threads = new();
        BlockingCall[] calls = [.. Enumerable.Range(0, MaxThreads).Select(_ => new BlockingCall())];
        Array.ForEach(calls, threads.Run);
        int[] ids = await Task.WhenAll(calls.Select(call => call.Entered)).InTime();
        Assert.Equal(MaxThreads, ids.Distinct().Count());

        ThreadRecorder beyond = new();
        threads.Run(beyond);
        Assert.DoesNotContain(await beyond.Ran.InTime(), ids);
        Assert.True(beyond.WasOnPool);

        Array.ForEach(calls, call => call.Release());
        await Task.WhenAll(calls.Select(call => call.Left)).InTime();
        ThreadRecorder after = new();
        threads.Run(after);
        await after.Ran.InTime();
        Assert.False(after.WasOnPool);
        Array.ForEach(calls, call => call.Dispose());
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
