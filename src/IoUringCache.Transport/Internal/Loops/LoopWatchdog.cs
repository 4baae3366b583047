using System.Diagnostics;

namespace IoUringCache.Transport.Internal.Loops;

/// <summary>
/// Looks every two milliseconds which call into application code each loop is in, and takes the loop from a call that it has seen for too
/// long (<see cref="CallClock"/>), has a loop send what the thread pool was to send and does not (<see cref="FlushQueue"/>), and has a thread
/// made where all that run handlers are stuck (<see cref="HandlerQueue"/>). It sleeps while there is none of these. A thread of its own;
/// owned by the group whose loops it watches.
/// </summary>
internal sealed class LoopWatchdog : IDisposable
{
    private const int QuietTicksBeforeSleep = 5;

    /// <summary>As long as a call may take, so that one that is seen at two ticks in a row is too long.</summary>
    private static readonly TimeSpan s_tick = TimeSpan.FromMilliseconds(2);

    private readonly EventLoop[] _loops;
    private readonly HandlerThreads _handlers;
    private readonly CallClock _clock;
    private readonly AutoResetEvent _wake = new(initialState: false);
    private readonly Thread _thread;
    private int _asleep;
    private bool _stopped;

    internal LoopWatchdog(EventLoop[] loops, HandlerThreads handlers)
    {
        _loops = loops;
        _handlers = handlers;
        _clock = new CallClock(loops.Length);
        _thread = new Thread(Run) { IsBackground = true, Name = "io_uring watch" };
    }

    internal void Start() => _thread.UnsafeStart();

    /// <summary>
    /// A loop is about to run application code, or has left a flush to the thread pool. The calling thread has said so where
    /// <see cref="EventLoop.IsBusy"/> looks, with a full fence; the watchdog looks there with a full fence after it has said that it sleeps. One
    /// of them sees the other. Any thread.
    /// </summary>
    internal void Wake()
    {
        if (Volatile.Read(ref _asleep) != 0 && Interlocked.Exchange(ref _asleep, 0) != 0)
        {
            _wake.Set();
        }
    }

    /// <summary>Ends the thread, which may still run for a moment and finds nothing to do.</summary>
    public void Dispose()
    {
        Volatile.Write(ref _stopped, true);
        _wake.Set();
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
    /// Looks at every loop, and at the handlers that wait for a thread; whether there is something to look at. A loop is busy when it hands
    /// over a handler, so the looks that follow see that.
    /// </summary>
    private bool Look(long now)
    {
        bool isBusy = _handlers.Relieve(now);
        for (int loop = 0; loop < _loops.Length; loop++)
        {
            _loops[loop].TakeLateFlushes();
            long call = _loops[loop].CurrentCall;
            isBusy |= call > 0 || _loops[loop].IsBusy;
            if (call > 0 && _clock.IsTooLong(loop, call))
            {
                _loops[loop].TakeOver(call);
            }
        }

        return isBusy;
    }

    private void Sleep()
    {
        Interlocked.Exchange(ref _asleep, 1);
        if (!Array.Exists(_loops, loop => loop.IsBusy))
        {
            _wake.WaitOne();
        }

        Volatile.Write(ref _asleep, 0);
    }
}
