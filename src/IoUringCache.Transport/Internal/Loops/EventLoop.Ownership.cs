using System.Diagnostics;
using IoUringCache.Ring;

namespace IoUringCache.Transport.Internal.Loops;

/// <content>
/// Which thread runs the loop (<see cref="ApplicationScheduling.Adaptive"/>). It lives on its home thread. When application code keeps
/// that, a spare takes the loop over, and gives it back when the home thread is there again.
/// <code>
///              a call takes too long: a spare takes over
///   at home ---------------------------------------------> away ---+ a call takes too long there as well: another spare
///      ^                                                     |  ^--+
///      +---- the home thread has come back: the owner -------+
///            gives it the loop before its next turn, and is a spare again
/// </code>
/// </content>
internal sealed partial class EventLoop
{
    /// <summary>
    /// While so many calls keep threads of the loop, all others run on threads for handlers: the loop's own would soon be used up, and each
    /// take-over costs those behind it two milliseconds.
    /// </summary>
    private const int MaxKept = 8;

    /// <summary>One that runs the loop, those that calls keep, and those that are on their way back.</summary>
    private const int MaxThreads = 2 * MaxKept;

    /// <summary>Operations that are submitted anew in one turn.</summary>
    private const int MaxRearmedPerTurn = 8;

    private const int MaxSlotsSearchedPerTurn = 256;

    /// <summary>A thread that is away for less has its operations back soon.</summary>
    private static readonly long s_rearmAfter = Stopwatch.Frequency / 100;

    /// <summary>Take-overs this close are of calls that came together, and more of them may be waiting.</summary>
    private static readonly long s_inARow = Stopwatch.Frequency / 100;

    private readonly HandlerThreads? _handlers;
    private readonly DispatchGate _gate = new();
    private readonly string _name;
    private readonly LoopThread _home;

    /// <summary>Guards the making of threads and their coming and going as spares.</summary>
    private readonly Lock _threadsLock = new();
    private readonly LoopThread?[] _threads = new LoopThread?[MaxThreads];
    private readonly Stack<LoopThread> _spares = new();
    private int _threadCount = 1;
    private int _keptCount;
    private bool _ended;

    private int _isBusy;
    private int _isHomeBack;
    private bool _isTakenOverInARow;
    private long _takenOverAt;
    private long _ownedSince;

    /// <summary>The slot from which on operations may be those of another thread; -1 when all are this one's.</summary>
    private int _rearmFrom = -1;

    /// <summary>Told when the loop is about to run application code. Set before the start.</summary>
    internal LoopWatchdog? Watchdog { get; set; }

    /// <summary>Whether the loop runs application code, or is just between two calls. Any thread.</summary>
    internal bool IsBusy => Volatile.Read(ref _isBusy) != 0;

    /// <summary>The number of the call into application code that the loop is in; not above 0 if it is in none. Any thread.</summary>
    internal long CurrentCall => _gate.CurrentCall;

    /// <summary>The thread that has the loop. Loop thread.</summary>
    internal int ThreadIndex => _posts.Owner!.Index;

    private bool CanGiveBack => Volatile.Read(ref _isHomeBack) != 0;

    private bool IsRearming => _rearmFrom >= 0;

    /// <summary>Gives the loop to a spare thread, if the call that has had it for too long still has it. Watchdog.</summary>
    internal void TakeOver(long call)
    {
        LoopThread? spare = TakeSpare();
        if (spare is null)
        {
            return;
        }

        if (!_gate.TryBeginTakeOver(call))
        {
            AddSpare(spare);
            return;
        }

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

            switch (Run())
            {
                case TurnEnd.Lost:
                    Interlocked.Decrement(ref _keptCount);
                    break;
                case TurnEnd.GivenBack:
                    break;
                default:
                    return;
            }

            if (self != _home)
            {
                AddSpare(self);
                continue;
            }

            // The owner looks at the flag after it has said that it sleeps.
            Interlocked.Exchange(ref _isHomeBack, 1);
            _posts.Wake();
        }
    }

    private void BeginOwnership()
    {
        _ring.TakeOver();
        _ownedSince = Stopwatch.GetTimestamp();
        _rearmFrom = 0;
        if (!_isTakenOverInARow)
        {
            return;
        }

        _isTakenOverInARow = false;
        while (_ready.TryDequeue(out Dispatch? dispatch))
        {
            _handlers!.Run(dispatch);
        }
    }

    /// <summary>Gives the loop to its home thread, if that is back. Loop thread.</summary>
    private bool TryGiveBack()
    {
        if (!CanGiveBack)
        {
            return false;
        }

        Debug.Assert(_posts.Owner != _home, "The home thread comes back only after it has lost the loop.");
        Volatile.Write(ref _isHomeBack, 0);
        _posts.Owner = _home;
        _home.Give();
        return true;
    }

    /// <summary>Has some of the operations that another thread submitted submitted anew by this one. Loop thread.</summary>
    private void RearmSome()
    {
        if (!IsRearming || (_posts.Owner != _home && Stopwatch.GetTimestamp() - _ownedSince < s_rearmAfter))
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

    /// <summary>Says that application code is about to run, and wakes the watchdog if it sleeps. Loop thread.</summary>
    private void AnnounceBusy()
    {
        if (Watchdog is not null)
        {
            Interlocked.Exchange(ref _isBusy, 1);
            Watchdog.Wake();
        }
    }

    private LoopThread? TakeSpare()
    {
        lock (_threadsLock)
        {
            if (_spares.TryPop(out LoopThread? spare) || _ended || _threadCount == MaxThreads)
            {
                return spare;
            }

            try
            {
                spare = new LoopThread(_threadCount, _name, Serve);
            }
            catch (IoUringException)
            {
                return null; // Out of descriptors. The watchdog asks again.
            }

            _threads[_threadCount++] = spare;
            spare.Start();
            return spare;
        }
    }

    private void AddSpare(LoopThread spare)
    {
        lock (_threadsLock)
        {
            _spares.Push(spare);
        }
    }

    /// <summary>The loop has ended: its threads end, those that application code keeps as soon as it has returned.</summary>
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
