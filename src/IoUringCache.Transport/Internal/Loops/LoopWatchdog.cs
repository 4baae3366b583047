using System.Diagnostics;

namespace IoUringCache.Transport.Internal.Loops;

/// <summary>
/// Looks every millisecond which call into application code each loop is in, and takes the loop from a call that it has seen for too
/// long. It sleeps while no loop runs application code. A thread of its own; owned by the group whose loops it watches.
/// </summary>
internal sealed class LoopWatchdog : IDisposable
{
    private const int QuietTicksBeforeSleep = 50;

    private static readonly TimeSpan s_tick = TimeSpan.FromMilliseconds(1);
    private static readonly long s_threshold = Stopwatch.Frequency / 500;

    /// <summary>Later than this, the watchdog itself was kept from running, and so perhaps was the call.</summary>
    private static readonly long s_late = Stopwatch.Frequency / 200;

    private readonly EventLoop[] _loops;
    private readonly long[] _calls;
    private readonly long[] _since;
    private readonly SemaphoreSlim _wake = new(0);
    private readonly Thread _thread;
    private int _asleep;
    private bool _stopped;

    internal LoopWatchdog(EventLoop[] loops)
    {
        _loops = loops;
        _calls = new long[loops.Length];
        _since = new long[loops.Length];
        _thread = new Thread(Run) { IsBackground = true, Name = "io_uring watch" };
    }

    internal void Start() => _thread.UnsafeStart();

    /// <summary>
    /// A loop is about to run application code. Its thread has said so where <see cref="EventLoop.IsBusy"/> looks, with a full fence; the
    /// watchdog looks there with a full fence after it has said that it sleeps. One of them sees the other.
    /// </summary>
    internal void Wake()
    {
        if (Volatile.Read(ref _asleep) != 0 && Interlocked.Exchange(ref _asleep, 0) != 0)
        {
            _wake.Release();
        }
    }

    /// <summary>Ends the thread. It may still run for a moment, and finds nothing to do.</summary>
    public void Dispose()
    {
        Volatile.Write(ref _stopped, true);
        Interlocked.Exchange(ref _asleep, 0);
        _wake.Release();
    }

    private void Run()
    {
        TimeSpan pauses = GC.GetTotalPauseDuration();
        long lastTick = Stopwatch.GetTimestamp();
        int quietTicks = 0;
        while (!Volatile.Read(ref _stopped))
        {
            if (quietTicks >= QuietTicksBeforeSleep)
            {
                Sleep();
                quietTicks = 0;
                lastTick = Stopwatch.GetTimestamp();
            }
            else
            {
                _wake.Wait(s_tick);
            }

            // A pause stops every thread: what was seen before it says nothing about the call.
            long now = Stopwatch.GetTimestamp();
            TimeSpan pausesNow = GC.GetTotalPauseDuration();
            bool isReliable = now - lastTick < s_late && pausesNow == pauses;
            lastTick = now;
            pauses = pausesNow;
            quietTicks = Look(now, isReliable) ? 0 : quietTicks + 1;
        }
    }

    /// <summary>Looks at every loop; whether one is busy.</summary>
    private bool Look(long now, bool isReliable)
    {
        bool isBusy = false;
        for (int i = 0; i < _loops.Length; i++)
        {
            isBusy |= _loops[i].IsBusy;
            long call = _loops[i].CurrentCall;
            if (call <= 0)
            {
                continue;
            }

            isBusy = true;
            if (call != _calls[i] || !isReliable)
            {
                (_calls[i], _since[i]) = (call, now);
            }
            else if (now - _since[i] >= s_threshold)
            {
                _loops[i].TakeOver(call);
            }
        }

        return isBusy;
    }

    private void Sleep()
    {
        Interlocked.Exchange(ref _asleep, 1);
        if (Array.Exists(_loops, loop => loop.IsBusy) || Volatile.Read(ref _stopped))
        {
            if (Interlocked.Exchange(ref _asleep, 0) != 0)
            {
                return;
            }
        }

        _wake.Wait();
    }
}
