namespace IoUringCache.Transport.Internal.Loops;

/// <summary>Resources in use, for tests that expect all of them back. Exact while loops are idle. Immutable.</summary>
/// <param name="ItemCount">Slots held: connections, listeners and connects.</param>
/// <param name="AcquiredBufferCount">Receive buffers that readers hold.</param>
/// <param name="RentedSegmentCount">Send segments with writers, queues and sends.</param>
/// <param name="BusyCount">Connections that are busy; 0 without a limit.</param>
internal readonly record struct LoopUsage(int ItemCount, int AcquiredBufferCount, int RentedSegmentCount, int BusyCount)
{
    public static LoopUsage operator +(LoopUsage left, LoopUsage right) => new(
        left.ItemCount + right.ItemCount,
        left.AcquiredBufferCount + right.AcquiredBufferCount,
        left.RentedSegmentCount + right.RentedSegmentCount,
        left.BusyCount + right.BusyCount);
}
