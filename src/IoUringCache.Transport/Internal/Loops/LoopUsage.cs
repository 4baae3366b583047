namespace IoUringCache.Transport.Internal.Loops;

/// <summary>What loops have given out at one moment, for tests that expect everything back. Exact while nothing goes on.</summary>
/// <param name="ItemCount">Slots held: connections and listeners.</param>
/// <param name="LentBufferCount">Receive buffers that readers hold.</param>
/// <param name="RentedSegmentCount">Send segments with writers, queues and sends.</param>
/// <param name="BusyCount">Connections in the backlog; 0 where no marks are set.</param>
internal readonly record struct LoopUsage(int ItemCount, int LentBufferCount, int RentedSegmentCount, int BusyCount)
{
    public static LoopUsage operator +(LoopUsage left, LoopUsage right) => new(
        left.ItemCount + right.ItemCount,
        left.LentBufferCount + right.LentBufferCount,
        left.RentedSegmentCount + right.RentedSegmentCount,
        left.BusyCount + right.BusyCount);
}
