using System.Diagnostics.CodeAnalysis;
using IoUringCache.Ring;

namespace IoUringCache.Transport.Internal.Loops;

/// <summary>
/// A thread that may run a loop: the home thread, or a spare for when application code blocks. It must not end before
/// the ring is closed, because its operations complete through it. Any thread; owned by its loop.
/// </summary>
internal sealed class LoopThread : IDisposable
{
    /// <summary>Threads of one loop, the home thread included. Up to half of them may be blocked.</summary>
    internal const int MaxPerLoop = 16;

    private readonly SemaphoreSlim _handedOver = new(0);
    private readonly Thread _thread;
    private bool _hasEnded;

    /// <param name="index">Its number among the loop's threads, 0 to <see cref="MaxPerLoop"/> - 1.</param>
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

    /// <summary>The <see cref="Environment.CurrentManagedThreadId"/> of the thread; reused once it has ended.</summary>
    internal int Id { get; }

    /// <summary>Wakes the thread when it sleeps in the kernel as the loop's owner.</summary>
    internal EventDescriptor Event { get; }

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

    /// <summary>Starts it without the caller's execution context: it serves all connections.</summary>
    internal void Start() => _thread.UnsafeStart();

    /// <summary>Gives it the loop.</summary>
    internal void HandOver() => _handedOver.Release();

    /// <summary>Tells it that there is no loop any more.</summary>
    internal void EndWait()
    {
        Volatile.Write(ref _hasEnded, true);
        _handedOver.Release();
    }

    /// <summary>Waits until it gets the loop; false if there is none any more. The thread itself.</summary>
    internal bool WaitForLoop()
    {
        _handedOver.Wait();
        return !Volatile.Read(ref _hasEnded);
    }

    public void Dispose() => Event.Dispose();
}
