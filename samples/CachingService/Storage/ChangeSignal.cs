namespace CachingService.Storage;

/// <summary>
/// Wakes everybody who waits for the next change, once per change and not per waiter. Take <see cref="Next"/> first, look at the state
/// second, await third: a change between the last two has completed the task already. Any thread.
/// </summary>
internal sealed class ChangeSignal
{
    private TaskCompletionSource _source = Create();

    public Task Next => Volatile.Read(ref _source).Task;

    public void Raise() => Interlocked.Exchange(ref _source, Create()).SetResult();

    // Waiters go on by themselves: the fill that raises must not run a client's code.
    private static TaskCompletionSource Create() => new(TaskCreationOptions.RunContinuationsAsynchronously);
}
