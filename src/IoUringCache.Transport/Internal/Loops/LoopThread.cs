using IoUringCache.Ring;

namespace IoUringCache.Transport.Internal.Loops;

/// <summary>
/// A thread that runs a loop, or could: its home, and the spares that take over while application code keeps another. It waits until it
/// is given the loop, and does not end before the ring does, because operations that it submitted complete through it. Any thread;
/// owned by its loop.
/// </summary>
internal sealed class LoopThread : IDisposable
{
    private readonly SemaphoreSlim _given = new(0);
    private readonly Thread _thread;

    /// <param name="index">Its number among the loop's threads.</param>
    /// <param name="name">For debuggers; Linux shows the first 15 characters.</param>
    /// <param name="run">What the thread does, from its start to its end.</param>
    internal LoopThread(int index, string name, Action<LoopThread> run)
    {
        Index = index;
        Event = EventDescriptor.Create();
        _thread = new Thread(() => run(this)) { IsBackground = true, Name = name };
        ThreadId = _thread.ManagedThreadId;
    }

    internal int Index { get; }

    /// <summary>What wakes it when it waits in the kernel as the loop's owner.</summary>
    internal EventDescriptor Event { get; }

    /// <summary>Whether a read of <see cref="Event"/> is in the kernel. The loop's owner.</summary>
    internal bool IsWakeArmed { get; set; }

    /// <summary>As <see cref="Environment.CurrentManagedThreadId"/> gives it on the thread.</summary>
    internal int ThreadId { get; }

    // The execution context of whoever binds first, or of a watchdog, has no business in a thread that serves all.
    internal void Start() => _thread.UnsafeStart();

    /// <summary>Hands it the loop, or tells it that there is none any more.</summary>
    internal void Give() => _given.Release();

    /// <summary>Waits for <see cref="Give"/>. The thread itself.</summary>
    internal void Wait() => _given.Wait();

    public void Dispose() => Event.Dispose();
}
