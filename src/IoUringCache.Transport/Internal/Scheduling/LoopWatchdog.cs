using System.Diagnostics;
using IoUringCache.Transport.Internal.Loops;

namespace IoUringCache.Transport.Internal.Scheduling;

/// <summary>
/// Makes the adaptive dispatchers of a group's loops and watches them. Every two milliseconds it checks calls into
/// application code (<see cref="CallClock"/>), flushes that wait for the thread pool and handlers that wait for a
/// thread; it sleeps while there are none. A thread of its own; owned by the group.
/// </summary>
internal sealed class LoopWatchdog : DispatcherFactory
{
    private const int QuietTicksBeforeSleep = 5;

    /// <summary>As long as a call may take, so that one that is seen at two ticks in a row is too long.</summary>
    private static readonly TimeSpan s_tick = TimeSpan.FromMilliseconds(2);

    private readonly List<AdaptiveDispatcher> _loops = [];
    private readonly HandlerThreads _handlers = new();
    private readonly CallClock _clock;
    private readonly AutoResetEvent _wake = new(initialState: false);
    private readonly Thread _thread;
    private int _asleep;
    private bool _stopped;

    /// <param name="loopCount">How many dispatchers it makes.</param>
    internal LoopWatchdog(int loopCount)
    {
        _clock = new CallClock(loopCount);
        _thread = new Thread(Run) { IsBackground = true, Name = "io_uring watch" };
    }

    internal override Dispatcher Create(EventLoop loop)
    {
        AdaptiveDispatcher dispatcher = new(loop, _loops.Count, _handlers, Wake);
        _loops.Add(dispatcher);
        return dispatcher;
    }

    internal override void Start() => _thread.UnsafeStart();

    /// <summary>
    /// There is something to watch. The caller published that for <see cref="AdaptiveDispatcher.IsBusy"/> with a full
    /// fence; the watchdog announces its sleep, a full fence too, and reads it then. One of them sees the other. Any
    /// thread.
    /// </summary>
    private void Wake()
    {
        if (Volatile.Read(ref _asleep) != 0 && Interlocked.Exchange(ref _asleep, 0) != 0)
        {
            _wake.Set();
        }
    }

    /// <summary>Ends the threads. The watchdog's may still run for a moment and finds nothing to do.</summary>
    public override void Dispose()
    {
        Volatile.Write(ref _stopped, true);
        _wake.Set();
        _handlers.Dispose();
    }

    private void Run()
    {
        int quietTicks = 0;
        while (!Volatile.Read(ref _stopped))
        {
            if (quietTicks == QuietTicksBeforeSleep)
            {
                Sleep();
                quietTicks = 0;
            }
            else
            {
                _wake.WaitOne(s_tick);
            }

            long now = Stopwatch.GetTimestamp();
            _clock.Tick(now, GC.GetTotalPauseDuration());
            quietTicks = Look(now) ? 0 : quietTicks + 1;
        }
    }

    /// <summary>
    /// Checks everything once; false if there was nothing. A loop is busy while it queues a call.
    /// </summary>
    private bool Look(long now)
    {
        bool isBusy = _handlers.Relieve(now);
        for (int index = 0; index < _loops.Count; index++)
        {
            AdaptiveDispatcher loop = _loops[index];
            loop.CheckFlushes();
            long call = loop.CurrentCall;
            isBusy |= call > 0 || loop.IsBusy;
            if (call > 0 && _clock.IsTooLong(index, call))
            {
                loop.Reassign(call);
            }
        }

        return isBusy;
    }

    private void Sleep()
    {
        Interlocked.Exchange(ref _asleep, 1);

        // In this order: a loop that is not busy any more has handed its calls to the handler threads.
        if (!_loops.Exists(static loop => loop.IsBusy) && !_handlers.Relieve(Stopwatch.GetTimestamp()))
        {
            _wake.WaitOne();
        }

        Volatile.Write(ref _asleep, 0);
    }
}
