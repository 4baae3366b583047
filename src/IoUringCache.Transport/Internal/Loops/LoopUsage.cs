namespace IoUringCache.Transport.Internal.Loops;

/// <summary>What loops have given out at one moment, for tests that expect everything back. Exact while nothing goes on.</summary>
/// <param name="ItemCount">Slots held: connections and listeners.</param>
/// <param name="LentBufferCount">Receive buffers that readers hold.</param>
/// <param name="RentedSegmentCount">Send segments with writers, queues and sends.</param>
internal readonly record struct LoopUsage(int ItemCount, int LentBufferCount, int RentedSegmentCount)
{
    public static LoopUsage operator +(LoopUsage left, LoopUsage right) => new(
        left.ItemCount + right.ItemCount,
        left.LentBufferCount + right.LentBufferCount,
        left.RentedSegmentCount + right.RentedSegmentCount);
}
