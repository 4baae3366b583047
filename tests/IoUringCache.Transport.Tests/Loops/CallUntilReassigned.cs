using IoUringCache.Transport.Internal.Scheduling;

namespace IoUringCache.Transport.Tests.Loops;

/// <summary>Application code that returns at the moment at which its loop is taken from it.</summary>
internal sealed class CallUntilReassigned(AdaptiveDispatcher dispatcher) : LoopWorkItem
{
    private readonly TaskCompletionSource<long> _entered = new(TaskCreationOptions.RunContinuationsAsynchronously);

    /// <summary>Done when it runs: the number of the call.</summary>
    internal Task<long> Entered => _entered.Task;

    public override void Execute()
    {
        long call = dispatcher.CurrentCall;
        _entered.SetResult(call);
        SpinWait.SpinUntil(() => dispatcher.CurrentCall != call);
    }
}
