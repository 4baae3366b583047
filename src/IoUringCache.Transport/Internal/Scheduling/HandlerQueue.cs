using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;

namespace IoUringCache.Transport.Internal.Scheduling;

/// <summary>
/// Runs calls into application code, in order, on threads of its own: as many as block at once, up to a limit, made
/// without delay and ended when idle. Beyond the limit calls wait here. Any thread; owned by its
/// <see cref="HandlerThreads"/>.
/// <para>
/// A thread that takes a call while others wait starts the next thread first, so a burst costs the loop one thread
/// start at most. No call is forgotten: under the lock each waiting call has an idle thread that was woken, or a thread
/// is starting, or the limit is reached and each thread takes the next call when its own returns.
/// </para>
/// </summary>
/// <param name="limit">Threads that are made without delay, 1 or more.</param>
internal sealed class HandlerQueue(int limit) : IDisposable
{
    private static readonly TimeSpan s_idleTime = TimeSpan.FromSeconds(10);

    /// <summary>A call that returns within this has not blocked.</summary>
    private static readonly long s_inTime = Stopwatch.Frequency / 1000;

    /// <summary>Calls that wait for this long, while none is taken, get one more thread, whatever the limit.</summary>
    private static readonly long s_stuckAfter = Stopwatch.Frequency / 2;

    // Waited on: a Lock cannot be.
    private readonly object _lock = new();
    private readonly Queue<LoopWorkItem> _calls = new();
    private int _threads;

    /// <summary>Threads that wait, including those that were woken and have not taken their call yet.</summary>
    private int _idle;

    /// <summary>Whether a thread was asked for that has not begun yet.</summary>
    private bool _isStarting;

    private long _takenCount;
    private long _seenTakenCount;
    private long _stuckSince;
    private bool _disposed;

    /// <summary>Runs a call on a thread of this queue, as soon as there is one.</summary>
    internal void Run(LoopWorkItem call)
    {
        lock (_lock)
        {
            _calls.Enqueue(call);
            if (_idle >= _calls.Count)
            {
                Monitor.Pulse(_lock);
                return;
            }

            if (!TryReserveThread(limit))
            {
                return;
            }
        }

        StartThread();
    }

    /// <summary>Makes one more thread if all are blocked and calls wait, which may unblock them. Watchdog.</summary>
    /// <param name="now">The time in ticks of <see cref="Stopwatch"/>.</param>
    /// <returns>Whether calls wait.</returns>
    internal bool Relieve(long now)
    {
        lock (_lock)
        {
            if (_calls.Count == 0 || _takenCount != _seenTakenCount)
            {
                (_seenTakenCount, _stuckSince) = (_takenCount, now);
                return _calls.Count != 0;
            }

            if (now - _stuckSince < s_stuckAfter || !TryReserveThread(int.MaxValue))
            {
                return true;
            }

            _stuckSince = now;
        }

        StartThread();
        return true;
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

    /// <summary>Under the lock; the caller then leaves it and calls <see cref="StartThread"/>.</summary>
    private bool TryReserveThread(int maxThreads)
    {
        if (_isStarting || _threads >= maxThreads)
        {
            return false;
        }

        _threads++;
        _isStarting = true;
        return true;
    }

    private void StartThread()
    {
        try
        {
            new Thread(Work) { IsBackground = true, Name = "io_uring handler" }.UnsafeStart();
        }
        catch (Exception failure) when (failure is OutOfMemoryException or ThreadStartException)
        {
            // The calls are left to the threads that there are, or to the thread pool where there is none.
            lock (_lock)
            {
                _isStarting = false;
                if (--_threads == 0)
                {
                    while (_calls.TryDequeue(out LoopWorkItem? call))
                    {
                        ThreadPool.UnsafeQueueUserWorkItem(call, preferLocal: false);
                    }
                }
            }
        }
    }

    private void Work()
    {
        lock (_lock)
        {
            _isStarting = false;
        }

        while (TryTake(out LoopWorkItem? call))
        {
            long started = Stopwatch.GetTimestamp();
            call.Execute();
            if (Stopwatch.GetTimestamp() - started < s_inTime)
            {
                call.MarkNonBlocking();
            }
            else
            {
                call.MarkBlocking();
            }
        }
    }

    /// <summary>Waits for the next call and starts a thread for those behind it; false to end this thread.</summary>
    private bool TryTake([NotNullWhen(true)] out LoopWorkItem? call)
    {
        lock (_lock)
        {
            while (!_calls.TryDequeue(out call))
            {
                _idle++;
                bool isWoken = !_disposed && Monitor.Wait(_lock, s_idleTime);
                _idle--;
                if (_calls.Count == 0 && (!isWoken || _disposed))
                {
                    _threads--;
                    return false;
                }
            }

            _takenCount++;
            if (_calls.Count <= _idle || !TryReserveThread(limit))
            {
                return true;
            }
        }

        StartThread();
        return true;
    }
}
