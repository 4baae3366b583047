using System.Diagnostics;
using IoUringCache.Transport.Internal.Loops;

namespace IoUringCache.Transport.Internal.Scheduling;

/// <summary>
/// Runs application code on the loop's thread, watched: a call that blocks keeps its thread, and a spare runs the loop
/// until the home thread is back. docs/design/scheduling.md draws the hand-overs and proves each safe. Loop thread,
/// except where a member says otherwise; owned by its loop.
/// </summary>
/// <param name="loop">The loop whose application code it runs.</param>
/// <param name="index">The loop's number, for thread names.</param>
/// <param name="handlers">Threads for calls that are known to block.</param>
/// <param name="wakeWatchdog">Called by any thread when there is something to watch.</param>
internal sealed class AdaptiveDispatcher(EventLoop loop, int index, HandlerThreads handlers, Action wakeWatchdog) : Dispatcher(loop)
{
    /// <summary>While this many of its threads are blocked, all calls go to handler threads.</summary>
    private const int MaxBlockedThreads = LoopThread.MaxPerLoop / 2;

    /// <summary>How long a spare has the loop before it rearms operations: 10 ms.</summary>
    private static readonly long s_rearmDelay = Stopwatch.Frequency / 100;

    /// <summary>Reassignments within 10 ms are of calls that came together; more may wait.</summary>
    private static readonly long s_inARow = Stopwatch.Frequency / 100;

    private readonly DispatchGate _gate = new();
    private readonly SpareThreads _spares = new($"io_uring spare {index}");
    private LoopThread _home = null!;
    private bool _isHomeBack;

    /// <summary>Threads that lost the loop to a call and have not come back.</summary>
    private int _blockedThreadCount;

    private bool _isRunning;

    // Written by the watchdog before it hands the loop over, read by the thread that gets it.
    private bool _isInARow;
    private long _reassignedAt;

    internal override bool RunsApplicationCode => true;

    internal override bool MovesLoop => true;

    /// <summary>The gate first, the owner second: the watchdog writes them in the opposite order.</summary>
    internal override bool IsOnLoop => !_gate.IsInApplication && Loop.IsOwner;

    /// <summary>The home thread lost the loop and has come back for it.</summary>
    internal override bool IsHandOverDue => Volatile.Read(ref _isHomeBack);

    /// <summary>Whether there is something to watch: calls, or flushes that the pool sends. Any thread.</summary>
    internal bool IsBusy => Volatile.Read(ref _isRunning) || Flushes.IsPending;

    /// <inheritdoc cref="DispatchGate.CurrentCall"/>
    internal long CurrentCall => _gate.CurrentCall;

    internal override void Serve(LoopThread home)
    {
        _home = home;
        home.HandOver();
        ServeThread(home);
    }

    internal override void SendSoon(LoopItem item)
    {
        Flushes.Add(item);
        wakeWatchdog();
    }

    internal override bool RunReady()
    {
        // After a reassignment in a row, what is ready came together with calls that block, so it may block as well.
        bool isInARow = _isInARow;
        _isInARow = false;
        if (Ready.Count == 0)
        {
            return true;
        }

        Interlocked.Exchange(ref _isRunning, true); // A full fence, which LoopWatchdog.Wake asks for.
        wakeWatchdog();

        long waitingSince = 0;
        for (int left = Ready.Count; left > 0; left--)
        {
            LoopWorkItem item = Ready.Dequeue();
            if (isInARow || item.IsKnownToBlock || Volatile.Read(ref _blockedThreadCount) >= MaxBlockedThreads)
            {
                handlers.Run(item);
                continue;
            }

            long call = _gate.Enter(item);
            Execute(item);
            if (!_gate.TryLeave(call))
            {
                return false;
            }

            // What the call asked for was posted, as from any other thread.
            if (!Loop.Posts.IsEmpty)
            {
                Loop.TakePosts();
                Loop.SubmitEarly(ref waitingSince);
            }
        }

        Volatile.Write(ref _isRunning, false);
        return true;
    }

    /// <summary>Ends the threads after the ring is closed; blocked ones end when their calls return.</summary>
    internal override void End()
    {
        base.End();
        Volatile.Write(ref _isRunning, false);
        _spares.End();
        _home.EndWait();
    }

    /// <inheritdoc cref="FlushQueue.LeaveLateToLoop"/>
    internal void CheckFlushes() => Flushes.LeaveLateToLoop();

    /// <summary>Gives the loop to a spare if the call still has it; does nothing without a spare. Watchdog.</summary>
    internal void Reassign(long call)
    {
        if (!_spares.TryTake(ServeThread, out LoopThread? spare))
        {
            return;
        }

        if (!_gate.TryBeginReassign(call))
        {
            _spares.Add(spare);
            return;
        }

        // No thread has the loop now: its thread sees that it has lost it, and the spare waits.
        Loop.Metrics.CountReassignment();
        Interlocked.Increment(ref _blockedThreadCount);
        long now = Stopwatch.GetTimestamp();
        _isInARow = now - _reassignedAt < s_inARow;
        _reassignedAt = now;
        Loop.Posts.Owner = spare;
        _gate.EndReassign();
        spare.HandOver();
    }

    /// <summary>Waits for the loop and runs it until a call loses it or the home thread wants it.</summary>
    private void ServeThread(LoopThread self)
    {
        while (self.WaitForLoop())
        {
            Loop.Rearm.Begin(self == _home ? 0 : s_rearmDelay);
            Volatile.Write(ref _isRunning, false); // The thread that lost the loop has left it set.
            switch (Loop.Run())
            {
                case RunEnd.Stopped:
                    return;
                case RunEnd.Lost: // The owner may still be this thread for a moment: the watchdog closes the gate first.
                    Interlocked.Decrement(ref _blockedThreadCount);
                    break;
                case RunEnd.HandOverDue:
                    Debug.Assert(self != _home, "The home thread comes back only after it has lost the loop.");
                    Volatile.Write(ref _isHomeBack, false);
                    Loop.Posts.Owner = _home;
                    _home.HandOver();
                    break;
            }

            if (self == _home)
            {
                Interlocked.Exchange(ref _isHomeBack, true); // A full fence: the owner looks here after it has announced its sleep.
                Loop.Posts.Wake();
            }
            else
            {
                _spares.Add(self);
            }
        }
    }
}
