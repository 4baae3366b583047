using System.Diagnostics;
using IoUringCache.Transport.Internal.Buffers;
using IoUringCache.Transport.Internal.Diagnostics;

namespace IoUringCache.Transport.Internal.Loops;

/// <summary>
/// Items that wait for receive buffers, or for the end of the pause after the kernel refused an operation. Loop thread
/// only; owned by the loop.
/// </summary>
internal sealed class WaitingItems(ReceiveBuffers buffers, LoopMetrics metrics)
{
    /// <summary>The pause after a refusal. Without one the loop would spin until memory comes back.</summary>
    internal static TimeSpan PauseLength => TimeSpan.FromMilliseconds(10);

    private List<LoopItem> _starved = [];
    private List<LoopItem> _paused = [];
    private long _pausedSince;

    /// <summary>Whether buffers have come back for items that wait for them.</summary>
    internal bool HaveBuffers => _starved.Count != 0 && buffers.HasRecovered;

    /// <summary>Whether a pause has begun and its items have not been resumed.</summary>
    internal bool IsPausing { get; private set; }

    /// <summary>Calls <see cref="LoopItem.OnBuffersAvailable"/> when buffers have come back.</summary>
    internal void AwaitBuffers(LoopItem item)
    {
        metrics.CountStarvation();
        _starved.Add(item);
        buffers.BeginStarvation();
    }

    /// <summary>Begins a pause, unless there is one: later refusals share it.</summary>
    internal void BeginPause()
    {
        if (!IsPausing)
        {
            _pausedSince = Stopwatch.GetTimestamp();
            IsPausing = true;
        }
    }

    /// <summary>Calls <see cref="LoopItem.OnPauseEnded"/> after the pause.</summary>
    internal void Pause(LoopItem item)
    {
        BeginPause();
        _paused.Add(item);
    }

    /// <summary>Tells the items that wait for buffers, if there are some again.</summary>
    internal void ResumeStarved()
    {
        if (HaveBuffers)
        {
            buffers.EndStarvation();
            foreach (LoopItem item in Take(ref _starved))
            {
                item.OnBuffersAvailable();
            }
        }
    }

    /// <summary>Ends a pause whose time is over and tells its items, which may begin the next one.</summary>
    /// <returns>Whether a pause has ended.</returns>
    internal bool ResumePaused()
    {
        if (!IsPausing || Stopwatch.GetElapsedTime(_pausedSince) < PauseLength)
        {
            return false;
        }

        IsPausing = false;
        foreach (LoopItem item in Take(ref _paused))
        {
            item.OnPauseEnded();
        }

        return true;
    }

    /// <summary>Items that are told may wait again at once.</summary>
    private static List<LoopItem> Take(ref List<LoopItem> items)
    {
        List<LoopItem> taken = items;
        items = [];
        return taken;
    }
}
