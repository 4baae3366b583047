using System.Diagnostics;
using IoUringCache.Transport.Tests.Faults;
using IoUringCache.Transport.Tests.Support;

namespace IoUringCache.Transport.Tests.Blocking;

/// <summary>Application code that keeps its thread in one way or another, until the test lets it go.</summary>
/// <param name="way">In which way.</param>
/// <param name="inner">A connection that is its own.</param>
internal sealed class Misbehaviour(Way way, ConnectionPair inner) : IDisposable
{
    private readonly TaskCompletionSource _entered = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly ManualResetEventSlim _release = new();

    /// <summary>Done when it has its thread.</summary>
    internal Task Entered => _entered.Task;

    /// <exception cref="NotSupportedException">The way is to throw.</exception>
    internal void Run()
    {
        _entered.TrySetResult();
        switch (way)
        {
            case Way.Wait:
                Wait();
                break;
            case Way.Spin:
                Repeat(() => Thread.SpinWait(1000));
                break;
            case Way.WaitForItself:
                inner.AssertWorksAsync().GetAwaiter().GetResult();
                Wait();
                break;
            case Way.StartProcesses:
                Repeat(StartProcess);
                break;
            case Way.Collect:
                Repeat(Collect);
                break;
            default:
                Wait();
                throw new NotSupportedException();
        }
    }

    internal void Release() => _release.Set();

    /// <summary>Lets it go. Its thread may be about to wait for the event still, so that stays usable.</summary>
    public void Dispose() => Release();

    private static void StartProcess()
    {
        using Process process = Process.Start("/bin/true");
        Assert.True(process.WaitForExit(Deadline.Limit));
    }

    /// <summary>Collections without a pause would leave others no time, on whatever transport.</summary>
    private void Collect()
    {
        GC.Collect();
        _release.Wait(TimeSpan.FromMilliseconds(5));
    }

    private void Wait() => Assert.True(_release.Wait(Deadline.Limit), "Nobody let it go.");

    private void Repeat(Action action)
    {
        long started = Stopwatch.GetTimestamp();
        while (!_release.IsSet)
        {
            Assert.True(Stopwatch.GetElapsedTime(started) < Deadline.Limit, "Nobody let it go.");
            action();
        }
    }
}
