using IoUringCache.Transport.Tests.Support;

namespace IoUringCache.Transport.Tests.Faults;

/// <summary>The next send beside the ring stays in its call, before it has sent anything, until the test lets it go.</summary>
internal sealed class HeldSend : IDisposable
{
    private readonly ManualResetEventSlim _gate = new();
    private readonly TaskCompletionSource _held = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private int _count;

    internal HeldSend(FaultKernel kernel) => kernel.OnSend = _ =>
    {
        if (Interlocked.Increment(ref _count) == 1)
        {
            _held.SetResult();
            Assert.True(_gate.Wait(Deadline.Limit), "Nobody lets it go.");
        }

        return null;
    };

    internal Task HeldAsync() => _held.Task.InTime();

    internal void LetGo() => _gate.Set();

    public void Dispose() => _gate.Set();
}
