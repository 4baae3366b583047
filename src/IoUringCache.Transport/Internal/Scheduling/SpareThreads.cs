using System.Diagnostics.CodeAnalysis;
using IoUringCache.Transport.Internal.Loops;

namespace IoUringCache.Transport.Internal.Scheduling;

/// <summary>
/// The threads of a loop besides its home thread: made when needed, kept until the loop ends. Any thread; owned by the
/// loop's dispatcher.
/// </summary>
internal sealed class SpareThreads(string name)
{
    private readonly Lock _lock = new();
    private readonly List<LoopThread> _all = new(LoopThread.MaxPerLoop);
    private readonly Stack<LoopThread> _idle = new();
    private bool _haveEnded;

    /// <summary>Takes an idle thread, or makes one; false if there is none and none can be made now.</summary>
    internal bool TryTake(Action<LoopThread> serve, [NotNullWhen(true)] out LoopThread? spare)
    {
        lock (_lock)
        {
            if (_idle.TryPop(out spare))
            {
                return true;
            }

            // The home thread has number 0.
            int index = _all.Count + 1;
            if (_haveEnded || index == LoopThread.MaxPerLoop || !LoopThread.TryStart(index, name, serve, out spare))
            {
                return false;
            }

            _all.Add(spare);
            return true;
        }
    }

    /// <summary>A thread waits for the loop again, or is about to.</summary>
    internal void Add(LoopThread spare)
    {
        lock (_lock)
        {
            _idle.Push(spare);
        }
    }

    /// <summary>There is no loop any more: each thread ends as soon as it waits for it.</summary>
    internal void End()
    {
        lock (_lock)
        {
            _haveEnded = true;
            foreach (LoopThread thread in _all)
            {
                thread.Dispose();
                thread.EndWait();
            }
        }
    }
}
