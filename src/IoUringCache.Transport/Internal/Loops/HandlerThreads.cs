using System.Diagnostics;

namespace IoUringCache.Transport.Internal.Loops;

/// <summary>
/// Threads for application code that blocks: as many as block at once, up to a limit, made without delay and ended when idle. The thread
/// pool makes threads slowly, so it is used only beyond the limit: whoever fills it must not hold up these calls, nor they its other work.
/// <para>Any thread hands over; owned by the group of loops that use it.</para>
/// </summary>
internal sealed class HandlerThreads : IDisposable
{
    private const int MaxThreads = 512;

    private static readonly TimeSpan s_idleTime = TimeSpan.FromSeconds(10);

    /// <summary>A call that returns within this has not blocked.</summary>
    private static readonly long s_inTime = Stopwatch.Frequency / 1000;

    // Waited on: a Lock cannot be.
    private readonly object _lock = new();
    private readonly Queue<Dispatch> _queue = new();
    private int _threads;

    /// <summary>Threads that wait, those included that are woken and have not taken their call yet.</summary>
    private int _idle;

    private bool _disposed;

    /// <summary>Runs it on a thread that nothing else waits for.</summary>
    internal void Run(Dispatch dispatch)
    {
        bool isAllowed;
        lock (_lock)
        {
            if (_idle > _queue.Count)
            {
                _queue.Enqueue(dispatch);
                Monitor.Pulse(_lock);
                return;
            }

            isAllowed = _threads < MaxThreads;
            _threads += isAllowed ? 1 : 0;
        }

        if (!isAllowed || !TryStartThread(dispatch))
        {
            ThreadPool.UnsafeQueueUserWorkItem(dispatch, preferLocal: false);
        }
    }

    /// <summary>Idle threads end at once, the others when they have nothing left to do.</summary>
    public void Dispose()
    {
        lock (_lock)
        {
            _disposed = true;
            Monitor.PulseAll(_lock);
        }
    }

    private bool TryStartThread(Dispatch first)
    {
        try
        {
            new Thread(() => Work(first)) { IsBackground = true, Name = "io_uring handler" }.UnsafeStart();
            return true;
        }
        catch (Exception failure) when (failure is OutOfMemoryException or ThreadStartException)
        {
            lock (_lock)
            {
                _threads--;
            }

            return false;
        }
    }

    private void Work(Dispatch first)
    {
        Dispatch? dispatch = first;
        while (dispatch is not null)
        {
            long started = Stopwatch.GetTimestamp();
            dispatch.Execute();
            if (Stopwatch.GetTimestamp() - started < s_inTime)
            {
                dispatch.Behaved();
            }
            else
            {
                dispatch.Suspect();
            }

            dispatch = Take();
        }
    }

    /// <summary>The next call; null when the thread is to end, which is then counted no more.</summary>
    private Dispatch? Take()
    {
        lock (_lock)
        {
            Dispatch? dispatch;
            while (!_queue.TryDequeue(out dispatch))
            {
                _idle++;
                bool isWoken = !_disposed && Monitor.Wait(_lock, s_idleTime);
                _idle--;
                if (_queue.Count == 0 && (!isWoken || _disposed))
                {
                    _threads--;
                    return null;
                }
            }

            return dispatch;
        }
    }
}
