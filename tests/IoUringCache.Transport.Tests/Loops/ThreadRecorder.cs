namespace IoUringCache.Transport.Tests.Loops;

/// <summary>Application code that says on which thread it ran.</summary>
internal sealed class ThreadRecorder : LoopWorkItem
{
    private readonly TaskCompletionSource<int> _ran = new(TaskCreationOptions.RunContinuationsAsynchronously);

    internal Task<int> Ran => _ran.Task;

    /// <summary>Whether that thread is the thread pool's. After <see cref="Ran"/>.</summary>
    internal bool WasOnPool { get; private set; }

    /// <summary>The name of that thread. After <see cref="Ran"/>.</summary>
    internal string? ThreadName { get; private set; }

    public override void Execute()
    {
        ThreadName = Thread.CurrentThread.Name;
        WasOnPool = Thread.CurrentThread.IsThreadPoolThread;
        _ran.SetResult(Environment.CurrentManagedThreadId);
    }
}
