using System.Diagnostics;
using System.Runtime.ExceptionServices;

namespace IoUringCache.Transport.Internal.Loops;

/// <content>The application code that became ready in a turn: here (Inline, Adaptive) or as one batch on the thread pool.</content>
internal sealed partial class EventLoop
{
    /// <summary>Application code that has run on the loop for this long since bytes were flushed is interrupted to submit them.</summary>
    private static readonly long s_submitEarlyAfter = Stopwatch.Frequency / 10_000;

    private readonly HandlerThreads? _handlers;

    /// <summary>Watches each call; with <see cref="ApplicationScheduling.Adaptive"/> only.</summary>
    private readonly DispatchGate? _gate;

    /// <summary>Flushes that the thread pool sends.</summary>
    private readonly FlushQueue _flushes = new();

    private int _isBusy;

    /// <summary>Called when there is something to watch. Set before the start.</summary>
    internal Action? WakeWatchdog { get; set; }

    /// <summary>
    /// Whether the loop runs application code that is watched, or is just between two calls, or leaves flushes to the thread pool. Any thread.
    /// </summary>
    internal bool IsBusy => Volatile.Read(ref _isBusy) != 0 || _flushes.IsPending;

    /// <summary>The number of the watched call that the loop is in; not above 0 if it is in none. Any thread.</summary>
    internal long CurrentCall => _gate?.CurrentCall ?? 0;

    /// <summary>
    /// Whether the loop itself is at work on this thread, and not application code that may lose the loop at any moment: that asks for
    /// things like any other thread. The gate is looked at first: a thread in application code sees it open only after the loop has got
    /// another owner, and then sees that owner too.
    /// </summary>
    private bool IsOnLoop => _gate is not { IsInApplication: true } && IsOwner;

    /// <summary>Has what was flushed of an item sent by the thread pool, soon (<see cref="FlushQueue"/>). Any thread but the loop's.</summary>
    internal void SendSoon(LoopItem item)
    {
        _flushes.Add(item);

        // As in RunWatched: published with a full fence.
        WakeWatchdog?.Invoke();
    }

    /// <summary>Leaves to the loop what the thread pool has not sent in time. The watchdog's thread, at each of its looks.</summary>
    internal void TakeLateFlushes()
    {
        if (_flushes.IsLate())
        {
            while (_flushes.TryTake(out LoopItem? item))
            {
                item!.LeaveFlushedToLoop();
            }
        }
    }

    /// <summary>Runs the application code that is ready, or hands it over; false if this thread has lost the loop to it.</summary>
    private bool RunReady()
    {
        if (_ready.Count == 0)
        {
            return true;
        }

        if (_pool is not null)
        {
            _pool.Publish(_ready);
            return true;
        }

        if (_gate is not null)
        {
            return RunWatched(_gate);
        }

        // What becomes ready meanwhile waits for the next turn: completions and sends get their share.
        long flushedSince = 0;
        for (int left = _ready.Count; left > 0; left--)
        {
            Execute(_ready.Dequeue());
            if (_requested.Count != 0)
            {
                SubmitEarly(ref flushedSince);
            }
        }

        return true;
    }

    /// <summary>As Inline, but what the application asks for is in the queue of posts, as from any other thread.</summary>
    private bool RunWatched(DispatchGate gate)
    {
        // The watchdog looks at the flag after it has said that it sleeps, with a full fence as here.
        Interlocked.Exchange(ref _isBusy, 1);
        WakeWatchdog?.Invoke();

        long flushedSince = 0;
        for (int left = _ready.Count; left > 0; left--)
        {
            LoopWorkItem dispatch = _ready.Dequeue();
            if (dispatch.IsKnownToBlock || Volatile.Read(ref _keptCount) >= MaxKept)
            {
                _handlers!.Run(dispatch);
                continue;
            }

            if (!Execute(dispatch, gate))
            {
                return false;
            }

            if (!_posts.IsEmpty)
            {
                TakePosts();
                SubmitEarly(ref flushedSince);
            }
        }

        Volatile.Write(ref _isBusy, 0);
        return true;
    }

    /// <summary>Runs one call into application code; false if this thread has lost the loop to it.</summary>
    private static bool Execute(LoopWorkItem dispatch, DispatchGate gate)
    {
        long call = gate.Enter(dispatch);
        Execute(dispatch);
        return gate.TryLeave(call);
    }

    private static void Execute(LoopWorkItem dispatch)
    {
        try
        {
            dispatch.Execute();
        }
        catch (Exception exception)
        {
            // A continuation that throws has nobody to tell. It may have lost the loop, so it cannot be the loop's failure: it ends the
            // process, as it does on the thread pool.
            ThreadPool.UnsafeQueueUserWorkItem(ExceptionDispatchInfo.Throw, exception, preferLocal: false);
        }
    }

    /// <summary>Submits what application code has flushed, if that was long ago. Loop thread, after a call that asked for something.</summary>
    /// <param name="flushedSince">When the loop first saw that; 0 if nothing waits.</param>
    private void SubmitEarly(ref long flushedSince)
    {
        long now = Stopwatch.GetTimestamp();
        if (flushedSince == 0)
        {
            flushedSince = now;
        }
        else if (now - flushedSince > s_submitEarlyAfter)
        {
            // Nothing is received here: what is already received waits for this thread, and would only be joined by more. A ring that may
            // change hands receives in any system call, so those who wait for buffers have a better chance if they go first here too.
            ResumeStarved();
            HandleRequests();
            _ring.Submit();
            flushedSince = 0;
        }
    }
}
