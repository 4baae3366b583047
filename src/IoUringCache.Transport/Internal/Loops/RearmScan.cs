using System.Diagnostics;

namespace IoUringCache.Transport.Internal.Loops;

/// <summary>
/// Walks a loop's slots, some in each turn, and has items rearm what the kernel does not complete for the present
/// thread: operations of another thread, after a hand-over, and, once a second, receives left at urgent data
/// (docs/kernels.md). Loop thread only; owned by the loop.
/// </summary>
/// <param name="operations">The loop's slots.</param>
/// <param name="isDeferred">Whether the ring defers task runs: no receive is then left at urgent data.</param>
internal sealed class RearmScan(OperationTable operations, bool isDeferred)
{
    private const int MaxRearmedPerTurn = 8;
    private const int MaxSearchedPerTurn = 256;

    private static readonly TimeSpan s_interval = TimeSpan.FromSeconds(1);

    /// <summary>The slot to look at next; -1 between two scans.</summary>
    private int _next = -1;
    private long _notBefore;
    private long _lookedAt;

    /// <summary>Whether slots are left to look at.</summary>
    internal bool IsUnderWay => _next >= 0;

    /// <summary>How long receives may be left at urgent data; null if none can be.</summary>
    internal TimeSpan? Interval => CanBeLeft ? s_interval : null;

    private bool CanBeLeft => !isDeferred && operations.Count != 0;

    /// <summary>Begins a scan; one that is under way begins again.</summary>
    /// <param name="delay"><see cref="Stopwatch"/> ticks, 0 or more: a thread that returns sooner needs no scan.</param>
    internal void Begin(long delay)
    {
        _next = 0;
        _notBefore = Stopwatch.GetTimestamp() + delay;
    }

    /// <summary>Goes on with the scan, or begins one when its time has come.</summary>
    internal void Step(int threadIndex)
    {
        if (_next < 0 && CanBeLeft && Stopwatch.GetElapsedTime(_lookedAt) >= s_interval)
        {
            _lookedAt = Stopwatch.GetTimestamp();
            _next = 0;
        }

        if (_next < 0 || Stopwatch.GetTimestamp() < _notBefore)
        {
            return;
        }

        int rearmed = 0;
        for (int searched = 0; searched < MaxSearchedPerTurn && rearmed < MaxRearmedPerTurn; searched++)
        {
            if (_next >= operations.SlotCount)
            {
                _next = -1;
                return;
            }

            if (operations[_next++]?.TryRearm(threadIndex) == true)
            {
                rearmed++;
            }
        }
    }
}
