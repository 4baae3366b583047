using IoUringCache.Transport.ZeroCopy;

namespace IoUringCache.Transport.Internal.Buffers;

/// <summary>
/// A loop's send segments: pinned memory in three sizes, and bare segments for shared or zero-copy memory. Keeps a
/// bounded number of each. Any thread. Owned by the loop.
/// </summary>
/// <param name="loopCount">Loops with a pool, 1 or more. More than eight share what eight may keep: 256 MiB.</param>
internal sealed class SendSegmentPool(int loopCount = 1)
{
    /// <summary>Loops whose pools keep as much as the pool of a single loop.</summary>
    private const int LoopsWithAFullPool = 8;

    internal const int SmallSize = 4 * 1024;
    internal const int MediumSize = 16 * 1024;
    internal const int LargeSize = 64 * 1024;

    private readonly Lock _lock = new();
    private readonly Shelf<SendSegment> _small = new(ShareOf(4096, loopCount));
    private readonly Shelf<SendSegment> _medium = new(ShareOf(512, loopCount));
    private readonly Shelf<SendSegment> _large = new(ShareOf(128, loopCount));
    private readonly Shelf<SendSegment> _bare = new(ShareOf(16 * 1024, loopCount));
    private int _rentedCount;

    internal int RentedCount => Volatile.Read(ref _rentedCount);

    internal int KeptCount
    {
        get
        {
            lock (_lock)
            {
                return _small.Count + _medium.Count + _large.Count + _bare.Count;
            }
        }
    }

    /// <summary>Rents an empty segment of at least <paramref name="size"/> bytes.</summary>
    internal SendSegment Rent(int size)
    {
        lock (_lock)
        {
            _rentedCount++;
            if (ShelfFor(size)?.TryTake(out SendSegment? segment) == true)
            {
                return segment;
            }
        }

        return new SendSegment(CapacityFor(size));
    }

    /// <summary>Rents a segment over the free rest of a flushed one that is not yet returned.</summary>
    internal SendSegment RentRestOf(SendSegment flushed)
    {
        SendSegment segment = RentBare();
        segment.CoverRestOf(flushed);
        return segment;
    }

    /// <summary>Rents a segment of zero-copy bytes. Exceptions of the memory's owner reach the caller.</summary>
    internal SendSegment RentFor(in ZeroCopySource source)
    {
        SendSegment segment = RentBare();
        try
        {
            segment.Hold(source);
            return segment;
        }
        catch
        {
            Return(segment);
            throw;
        }
    }

    /// <summary>Takes back a segment. Not under a lock: the owner of zero-copy memory may run code.</summary>
    internal void Return(SendSegment segment)
    {
        bool isBare = segment.Capacity == 0;
        SendSegment? free = segment.Reset();
        lock (_lock)
        {
            _rentedCount--;
            if (isBare)
            {
                _bare.Put(segment);
            }

            if (free is not null)
            {
                ShelfFor(free.Capacity)?.Put(free);
            }
        }
    }

    internal void ReturnAll(SendSegment? first) => ReturnSent(first, long.MaxValue);

    /// <summary>Takes back the sent segments of a list. As <see cref="Return"/>.</summary>
    /// <returns>The unsent rest, or null.</returns>
    internal SendSegment? ReturnSent(SendSegment? first, long bytes)
    {
        while (first is not null && first.Length <= bytes)
        {
            SendSegment sent = first;
            bytes -= sent.Length;
            first = sent.Next;
            Return(sent);
        }

        first?.Sent((int)bytes);
        return first;
    }

    /// <summary>Drops segments unused since the last call: a few pinned ones keep a whole heap region.</summary>
    internal void Trim()
    {
        lock (_lock)
        {
            _small.Trim();
            _medium.Trim();
            _large.Trim();
            _bare.Trim();
        }
    }

    private static int ShareOf(int limit, int loopCount) => limit * LoopsWithAFullPool / Math.Max(LoopsWithAFullPool, loopCount);

    /// <summary>The smallest shelf that fits; null above <see cref="LargeSize"/>.</summary>
    private Shelf<SendSegment>? ShelfFor(int size) => CapacityFor(size) switch
    {
        SmallSize => _small,
        MediumSize => _medium,
        LargeSize => _large,
        _ => null,
    };

    private static int CapacityFor(int size) => size switch
    {
        <= SmallSize => SmallSize,
        <= MediumSize => MediumSize,
        <= LargeSize => LargeSize,
        _ => size,
    };

    private SendSegment RentBare()
    {
        lock (_lock)
        {
            _rentedCount++;
            return _bare.TryTake(out SendSegment? segment) ? segment : new SendSegment();
        }
    }
}
