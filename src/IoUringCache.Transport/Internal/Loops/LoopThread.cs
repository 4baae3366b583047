using System.Diagnostics.CodeAnalysis;
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
    /// <exception cref="IoUringException">The process has no descriptor left for <see cref="Event"/>.</exception>
    internal LoopThread(int index, string name, Action<LoopThread> run)
    {
        Index = index;
        Event = EventDescriptor.Create();
        _thread = new Thread(() => run(this)) { IsBackground = true, Name = name };
        Id = _thread.ManagedThreadId;
    }

    /// <summary>Its number among the loop's threads.</summary>
    internal int Index { get; }

    /// <summary>As <see cref="Environment.CurrentManagedThreadId"/> gives it on the thread; another's once the thread has ended.</summary>
    internal int Id { get; }

    /// <summary>What wakes it when it waits in the kernel as the loop's owner; no other thread's sleep can delay that.</summary>
    internal EventDescriptor Event { get; }

    /// <summary>Whether a read of <see cref="Event"/> is in the kernel. The loop's owner.</summary>
    internal bool IsWakeArmed { get; set; }

    /// <summary>Makes and starts one; false if the process has no descriptor, memory or thread left for it.</summary>
    internal static bool TryStart(int index, string name, Action<LoopThread> run, [NotNullWhen(true)] out LoopThread? thread)
    {
        thread = null;
        try
        {
            thread = new LoopThread(index, name, run);
            thread.Start();
            return true;
        }
        catch (Exception failure) when (failure is IoUringException or OutOfMemoryException or ThreadStartException)
        {
            thread?.Dispose();
            thread = null;
            return false;
        }
    }

    // The execution context of whoever binds first, or of a watchdog, has no business in a thread that serves all.
    internal void Start() => _thread.UnsafeStart();

    /// <summary>Hands it the loop, or tells it that there is none any more.</summary>
    internal void Give() => _given.Release();

    /// <summary>Waits for <see cref="Give"/>. The thread itself.</summary>
    internal void Wait() => _given.Wait();

    public void Dispose() => Event.Dispose();
}
