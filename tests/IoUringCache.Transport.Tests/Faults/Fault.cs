using IoUringCache.Transport.Tests.Support;

namespace IoUringCache.Transport.Tests.Faults;

/// <summary>What happens to the next operations of some kind. The test waits; the loops' threads strike.</summary>
internal sealed class Fault(Func<SubmissionView, bool> meets, int times, Action<SubmissionView> strike)
{
    private readonly TaskCompletionSource _spent = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private int _left = times;
    private int _strikeCount;

    internal int StrikeCount => Volatile.Read(ref _strikeCount);

    /// <summary>It has not struck often enough.</summary>
    internal bool IsWaiting => Volatile.Read(ref _left) > 0;

    /// <summary>Waits until it has struck as often as it was to.</summary>
    internal Task SpentAsync() => _spent.Task.InTime();

    /// <summary>It strikes no more.</summary>
    internal void End() => Interlocked.Exchange(ref _left, 0);

    /// <summary>Strikes if it meets the entry and has not struck often enough.</summary>
    internal bool TryStrike(SubmissionView entry)
    {
        if (Volatile.Read(ref _left) <= 0 || !meets(entry))
        {
            return false;
        }

        strike(entry);
        Interlocked.Increment(ref _strikeCount);
        if (Interlocked.Decrement(ref _left) == 0)
        {
            _spent.TrySetResult();
        }

        return true;
    }
}
