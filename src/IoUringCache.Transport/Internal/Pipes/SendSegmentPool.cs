namespace IoUringCache.Transport.Internal.Pipes;

/// <summary>
/// Pinned memory for what applications write, in two sizes: small for a typical response, large where much is written before a flush,
/// because a long list of small pieces costs the kernel more than the bytes. And segments without memory, for what applications lend.
/// Keeps a bounded number of each; more is left to the garbage collector. Any thread; owned by the loop whose connections use it.
/// </summary>
internal sealed class SendSegmentPool
{
    internal const int SmallSize = 4 * 1024;
    internal const int LargeSize = 64 * 1024;

    private const int SmallKept = 1024;
    private const int LargeKept = 64;
    private const int LentKept = 1024;

    private readonly Lock _lock = new();
    private readonly Stack<SendSegment> _small = new();
    private readonly Stack<SendSegment> _large = new();
    private readonly Stack<SendSegment> _lent = new();
    private int _rentedCount;

    /// <summary>Segments that are somebody's.</summary>
    internal int RentedCount => Volatile.Read(ref _rentedCount);

    /// <summary>An empty segment of at least <paramref name="size"/> bytes.</summary>
    internal SendSegment Rent(int size)
    {
        bool isSmall = size <= SmallSize;
        lock (_lock)
        {
            _rentedCount++;
            if (size <= LargeSize && (isSmall ? _small : _large).TryPop(out SendSegment? segment))
            {
                return segment;
            }
        }

        return new SendSegment(isSmall ? SmallSize : Math.Max(LargeSize, size));
    }

    /// <summary>A segment that is full of what is lent. It is counted only when that is held, which may throw.</summary>
    internal SendSegment RentFor(in Loan loan)
    {
        SendSegment? segment;
        lock (_lock)
        {
            _lent.TryPop(out segment);
        }

        segment ??= new SendSegment();
        segment.Borrow(loan);
        lock (_lock)
        {
            _rentedCount++;
        }

        return segment;
    }

    /// <summary>Takes back a segment that nobody reads or writes any more. Not under a lock: the owner of lent memory may run code.</summary>
    internal void Return(SendSegment segment)
    {
        (Stack<SendSegment> kept, int limit) = segment switch
        {
            { IsLent: true } => (_lent, LentKept),
            { Capacity: SmallSize } => (_small, SmallKept),
            { Capacity: LargeSize } => (_large, LargeKept),
            _ => (_large, 0),
        };

        segment.Reset();
        lock (_lock)
        {
            _rentedCount--;
            if (kept.Count < limit)
            {
                kept.Push(segment);
            }
        }
    }
}
