using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using IoUringCache.Transport.Internal.Diagnostics;

namespace IoUringCache.Transport.Internal.Loops;

/// <content>
/// Which thread has the loop. It lives on its home thread; only with <see cref="ApplicationScheduling.Adaptive"/> does it leave that:
/// when application code keeps the thread, a spare takes the loop over, and gives it back when the home thread is there again.
/// <code>
///              a call takes too long: a spare takes over
///   at home ---------------------------------------------> away ---+ a call takes too long there as well: another spare
///      ^                                                     |  ^--+
///      +---- the home thread has come back: the owner -------+
///            gives it the loop before its next turn, and is a spare again
/// </code>
/// Why each hand-over is safe stands in docs/ARCHITECTURE.md.
/// </content>
internal sealed partial class EventLoop
{
    /// <summary>
    /// While so many calls keep threads of the loop, all others run on threads for handlers: the loop's own would soon be used up, and each
    /// take-over costs those behind it some milliseconds.
    /// </summary>
    private const int MaxKept = 8;

    /// <summary>One that has the loop, those that calls keep, and those that are on their way back.</summary>
    private const int MaxThreads = 2 * MaxKept;

    /// <summary>Operations that are submitted anew in one turn.</summary>
    private const int MaxRearmedPerTurn = 8;

    private const int MaxSlotsSearchedPerTurn = 256;

    /// <summary>A thread that is away for less has its operations back soon.</summary>
    private static readonly long s_rearmAfter = Stopwatch.Frequency / 100;

    /// <summary>Take-overs this close are of calls that came together, and more of them may be waiting.</summary>
    private static readonly long s_inARow = Stopwatch.Frequency / 100;

    /// <summary>How often receives are looked at that the kernel may have left at urgent data (docs/kernels.md).</summary>
    private static readonly TimeSpan s_lookInterval = TimeSpan.FromSeconds(1);

    private readonly string _spareName;
    private readonly LoopThread _home;

    /// <summary>Guards the making of threads and their coming and going as spares.</summary>
    private readonly Lock _threadsLock = new();

    /// <summary>By index; written under the lock, and only from null.</summary>
    private readonly LoopThread?[] _threads = new LoopThread?[MaxThreads];
    private readonly Stack<LoopThread> _spares = new();
    private int _threadCount = 1;
    private bool _ended;

    /// <summary>Threads that lost the loop to a call and have not come back.</summary>
    private int _keptCount;

    private int _isHomeBack;

    /// <summary>Written by the watchdog before it gives the loop away, read by the thread that gets it.</summary>
    private bool _isTakenOverInARow;
    private long _takenOverAt;

    private long _ownedSince;

    /// <summary>The slot from which on operations may have to be submitted anew; -1 when all have been looked at.</summary>
    private int _rearmFrom = -1;
    private long _lookedAt;

    /// <summary>Threads besides the home thread. Any thread.</summary>
    internal int SpareThreadCount => Volatile.Read(ref _threadCount) - 1;

    /// <summary>The thread that has the loop. Loop thread.</summary>
    internal int ThreadIndex => _posts.Owner!.Index;

    /// <summary>The home thread lost the loop and has come back for it.</summary>
    private bool IsHomeBack => Volatile.Read(ref _isHomeBack) != 0;

    private bool IsRearming => _rearmFrom >= 0;

    /// <summary>Whether a receive may stay in the kernel though there is something to be received. Not after a deferred one.</summary>
    private bool CanBeLeft => !_ring.IsDeferred && _operations.Count != 0;

    /// <summary>Gives the loop to a spare thread, if the call that has had it for too long still has it. Watchdog.</summary>
    internal void TakeOver(long call)
    {
        if (!TryTakeSpare(out LoopThread? spare))
        {
            return; // None is left, or can be made now. The watchdog asks again at its next tick.
        }

        if (!_gate!.TryBeginTakeOver(call))
        {
            AddSpare(spare);
            return;
        }

        // Nobody has the loop now: its thread sees that it has lost it, and the spare waits. What this writes is the loop's.
        IoUringMetrics.CountTakeOver();
        Interlocked.Increment(ref _keptCount);
        long now = Stopwatch.GetTimestamp();
        _isTakenOverInARow = now - _takenOverAt < s_inARow;
        _takenOverAt = now;
        _posts.Owner = spare;
        _gate.EndTakeOver();
        spare.Give();
    }

    /// <summary>What each thread does between its start and its end: wait for the loop, run it until it has lost it.</summary>
    private void Serve(LoopThread self)
    {
        while (true)
        {
            self.Wait();
            if (Volatile.Read(ref _ended))
            {
                return;
            }

            TurnEnd end = Run();
            if (end == TurnEnd.Stopped)
            {
                return;
            }

            if (end == TurnEnd.Lost)
            {
                Interlocked.Decrement(ref _keptCount);
            }

            if (self == _home)
            {
                // The owner looks at the flag after it has said that it sleeps.
                Interlocked.Exchange(ref _isHomeBack, 1);
                _posts.Wake();
            }
            else
            {
                AddSpare(self);
            }
        }
    }

    /// <summary>The first that a thread does when it gets the loop.</summary>
    private void BeginOwnership()
    {
        _ring.BindToCurrentThread();
        _ownedSince = Stopwatch.GetTimestamp();
        _rearmFrom = 0;
        Volatile.Write(ref _isBusy, 0); // The thread that lost the loop did not come to that.
        if (_isTakenOverInARow)
        {
            _isTakenOverInARow = false;
            while (_ready.TryDequeue(out LoopWorkItem? dispatch))
            {
                _handlers!.Run(dispatch);
            }
        }
    }

    /// <summary>Gives the loop to its home thread, if that is back. Loop thread, which has it no more if this is true.</summary>
    private bool TryGiveBack()
    {
        if (!IsHomeBack)
        {
            return false;
        }

        Debug.Assert(_posts.Owner != _home, "The home thread comes back only after it has lost the loop.");
        Volatile.Write(ref _isHomeBack, 0);
        _posts.Owner = _home;
        _home.Give();
        return true;
    }

    /// <summary>
    /// Has some of the operations submitted anew that another thread submitted, and of those that the kernel has left at urgent data. Loop
    /// thread.
    /// </summary>
    private void RearmSome()
    {
        if (!IsRearming && CanBeLeft && Stopwatch.GetElapsedTime(_lookedAt) >= s_lookInterval)
        {
            _rearmFrom = 0;
            _lookedAt = Stopwatch.GetTimestamp();
        }

        if (!IsRearming || _stopping || (_posts.Owner != _home && Stopwatch.GetTimestamp() - _ownedSince < s_rearmAfter))
        {
            return;
        }

        int rearmed = 0;
        for (int searched = 0; searched < MaxSlotsSearchedPerTurn && rearmed < MaxRearmedPerTurn; searched++)
        {
            if (_rearmFrom >= _operations.SlotCount)
            {
                _rearmFrom = -1;
                return;
            }

            if (_operations[_rearmFrom++]?.TryRearm(ThreadIndex) == true)
            {
                rearmed++;
            }
        }
    }

    private bool TryTakeSpare([NotNullWhen(true)] out LoopThread? spare)
    {
        lock (_threadsLock)
        {
            if (_spares.TryPop(out spare))
            {
                return true;
            }

            if (_ended || _threadCount == MaxThreads || !LoopThread.TryStart(_threadCount, _spareName, Serve, out spare))
            {
                return false;
            }

            _threads[_threadCount++] = spare;
            return true;
        }
    }

    private void AddSpare(LoopThread spare)
    {
        lock (_threadsLock)
        {
            _spares.Push(spare);
        }
    }

    /// <summary>
    /// The ring is closed: the threads end, those that application code keeps as soon as it has returned. None did before, because what an
    /// ended thread had submitted is cancelled by the kernel when it comes due.
    /// </summary>
    private void EndThreads()
    {
        lock (_threadsLock)
        {
            Volatile.Write(ref _ended, true);
            foreach (LoopThread? thread in _threads)
            {
                thread?.Dispose();
                thread?.Give();
            }
        }
    }
}
