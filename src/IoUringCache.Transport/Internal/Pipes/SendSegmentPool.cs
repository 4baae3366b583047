using System.Diagnostics.CodeAnalysis;

namespace IoUringCache.Transport.Internal.Pipes;

/// <summary>
/// Pinned memory for what applications write, in three sizes: small for a typical response, larger where much is written before a flush,
/// because a long list of small pieces costs the kernel more than the bytes. And segments without memory of their own, for the rest of
/// another's and for what applications lend. Keeps a bounded number of each, of small and of bare ones what thousands of connections use that are
/// told the same thing at the same time; more is left to the garbage collector. Any thread; owned by the loop whose connections use it.
/// </summary>
internal sealed class SendSegmentPool
{
    internal const int SmallSize = 4 * 1024;
    internal const int MediumSize = 16 * 1024;
    internal const int LargeSize = 64 * 1024;

    private readonly Lock _lock = new();
    private readonly Shelf _small = new(4096);
    private readonly Shelf _medium = new(512);
    private readonly Shelf _large = new(128);
    private readonly Shelf _bare = new(16 * 1024);
    private int _rentedCount;

    /// <summary>Segments that are somebody's.</summary>
    internal int RentedCount => Volatile.Read(ref _rentedCount);

    /// <summary>An empty segment of at least <paramref name="size"/> bytes.</summary>
    internal SendSegment Rent(int size)
    {
        (Shelf? shelf, int capacity) = size switch
        {
            <= SmallSize => (_small, SmallSize),
            <= MediumSize => (_medium, MediumSize),
            <= LargeSize => (_large, LargeSize),
            _ => (null, size),
        };

        lock (_lock)
        {
            _rentedCount++;
            if (shelf?.TryTake(out SendSegment? segment) == true)
            {
                return segment;
            }
        }

        return new SendSegment(capacity);
    }

    /// <summary>An empty segment in the free rest of one that was flushed and is not yet returned.</summary>
    internal SendSegment RentRestOf(SendSegment flushed)
    {
        SendSegment segment = RentBare();
        segment.TakeRestOf(flushed);
        return segment;
    }

    /// <summary>A segment that is full of what is lent; whatever the owner of that throws comes out of here.</summary>
    internal SendSegment RentFor(in Loan loan)
    {
        SendSegment segment = RentBare();
        try
        {
            segment.Borrow(loan);
            return segment;
        }
        catch
        {
            Return(segment);
            throw;
        }
    }

    /// <summary>Takes back a segment that nobody reads or writes any more. Not under a lock: the owner of lent memory may run code.</summary>
    internal void Return(SendSegment segment)
    {
        bool isBare = segment.Capacity == 0;
        SendSegment? free = segment.Reset();
        Shelf? shelf = free?.Capacity switch
        {
            SmallSize => _small,
            MediumSize => _medium,
            LargeSize => _large,
            _ => null,
        };

        lock (_lock)
        {
            _rentedCount--;
            if (isBare)
            {
                _bare.Put(segment);
            }

            shelf?.Put(free!);
        }
    }

    private SendSegment RentBare()
    {
        lock (_lock)
        {
            _rentedCount++;
            return _bare.TryTake(out SendSegment? segment) ? segment : new SendSegment();
        }
    }

    /// <summary>Segments of one kind, as many as are worth keeping. Guarded by the pool's lock.</summary>
    private sealed class Shelf(int limit)
    {
        private readonly Stack<SendSegment> _segments = new();

        internal bool TryTake([NotNullWhen(true)] out SendSegment? segment) => _segments.TryPop(out segment);

        internal void Put(SendSegment segment)
        {
            if (_segments.Count < limit)
            {
                _segments.Push(segment);
            }
        }
    }
}
