using System.Diagnostics;
using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Diagnostics;

namespace IoUringCache.Transport.Internal.Loops;

/// <content>Items that wait for something which no completion announces: buffers that come back, memory that the kernel had none of.</content>
internal sealed partial class EventLoop
{
    /// <summary>How long the loop may sleep while a pool worker got stuck with flushed bytes, or operations have to be armed again.</summary>
    private static readonly TimeSpan s_busyWait = TimeSpan.FromMilliseconds(1);

    /// <summary>How long flushes of other threads may wait for those that come close behind them.</summary>
    private static readonly TimeSpan s_nap = TimeSpan.FromMicroseconds(100);

    /// <summary>How long an operation that the kernel refused is left alone before it is tried again.</summary>
    private static readonly TimeSpan s_pause = TimeSpan.FromMilliseconds(10);

    private List<LoopItem> _starved = [];
    private List<LoopItem> _paused = [];
    private bool _wakeRefused;
    private long _pausedSince;

    /// <summary>
    /// A sleep that nothing ends by itself would miss the end of a pause, a pool worker that got stuck, work of its own, and what the kernel
    /// has left.
    /// </summary>
    private TimeSpan? LongestSleep => (_pool, IsRearming, IsPausing) switch
    {
        ({ IsBusy: true }, _, _) or (_, true, _) => s_busyWait,
        (_, _, true) => s_pause,
        _ => CanBeLeft ? s_lookInterval : null,
    };

    private bool IsPausing => _paused.Count != 0 || _wakeRefused;

    /// <summary>
    /// Remembers an item whose receive ended for lack of buffers, for <see cref="LoopItem.OnBuffersAvailable"/>. Loop thread.
    /// </summary>
    internal void AwaitBuffers(LoopItem item)
    {
        AssertOwner();
        IoUringMetrics.CountStarvation();
        _starved.Add(item);
        _receiveBuffers.BeginStarvation();
    }

    /// <summary>
    /// Remembers an item of which the kernel refused an operation that is to be tried again, for <see cref="LoopItem.OnPauseEnded"/>: at
    /// once would be a loop that spins until memory comes back. Loop thread.
    /// </summary>
    internal void Pause(LoopItem item)
    {
        AssertOwner();
        BeginPause();
        _paused.Add(item);
    }

    private void ResumeStarved()
    {
        if (_starved.Count == 0 || !_receiveBuffers.HasRecovered)
        {
            return;
        }

        _receiveBuffers.EndStarvation();
        List<LoopItem> starved = _starved;
        _starved = [];
        foreach (LoopItem item in starved)
        {
            item.OnBuffersAvailable();
        }
    }

    private void ResumePaused()
    {
        if (!IsPausing || Stopwatch.GetElapsedTime(_pausedSince) < s_pause)
        {
            return;
        }

        _wakeRefused = false;
        List<LoopItem> paused = _paused;
        _paused = [];
        foreach (LoopItem item in paused)
        {
            item.OnPauseEnded();
        }
    }

    /// <summary>The first refusal begins the pause that those after it share.</summary>
    private void BeginPause()
    {
        if (!IsPausing)
        {
            _pausedSince = Stopwatch.GetTimestamp();
        }
    }

    /// <summary>Without the read no signal is heard: until it can be armed again, the loop looks at its queue after every pause.</summary>
    private void OnWake(in Completion completion)
    {
        _threads[completion.UserData.Slot]!.IsWakeArmed = false;
        if (completion.IsError)
        {
            BeginPause();
            _wakeRefused = true;
        }
    }
}
