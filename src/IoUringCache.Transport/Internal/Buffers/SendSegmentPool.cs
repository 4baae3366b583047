using System.Diagnostics.CodeAnalysis;
using IoUringCache.Transport.ZeroCopy;

namespace IoUringCache.Transport.Internal.Buffers;

/// <summary>
/// Pinned memory for what applications write, in three sizes: small for a typical response, larger where much is written before a flush,
/// because a long list of small pieces costs the kernel more than the bytes. And segments without memory of their own, for the rest of
/// another's and for what applications lend. Keeps a bounded number of each, of small and of bare ones what thousands of connections use that are
/// told the same thing at the same time; more is left to the garbage collector, and so is what was not needed for a while
/// (<see cref="Trim"/>). Any thread; owned by the loop whose connections use it.
/// </summary>
/// <param name="loopCount">Loops that have a pool like this. Beyond eight they share what eight may keep: 256 MiB.</param>
internal sealed class SendSegmentPool(int loopCount = 1)
{
    /// <summary>Loops whose pools are not limited by each other's.</summary>
    private const int LoopsWithAFullPool = 8;

    internal const int SmallSize = 4 * 1024;
    internal const int MediumSize = 16 * 1024;
    internal const int LargeSize = 64 * 1024;

    private readonly Lock _lock = new();
    private readonly Shelf _small = new(ShareOf(4096, loopCount));
    private readonly Shelf _medium = new(ShareOf(512, loopCount));
    private readonly Shelf _large = new(ShareOf(128, loopCount));
    private readonly Shelf _bare = new(ShareOf(16 * 1024, loopCount));
    private int _rentedCount;

    /// <summary>Segments that are somebody's.</summary>
    internal int RentedCount => Volatile.Read(ref _rentedCount);

    /// <summary>Segments that are kept for the next callers that rent.</summary>
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
    internal SendSegment RentFor(in ZeroCopySource loan)
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

    /// <summary>
    /// Leaves to the garbage collector what has been kept since the last call and was needed at no moment in between. Few that stay would keep
    /// much: the collector does not move pinned memory, so a part of the heap goes back to the system only when nothing of it is in use.
    /// </summary>
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

        /// <summary>As few as there were at some moment since the last trim: these were not needed.</summary>
        private int _fewest;

        internal int Count => _segments.Count;

        internal bool TryTake([NotNullWhen(true)] out SendSegment? segment)
        {
            if (!_segments.TryPop(out segment))
            {
                return false;
            }

            _fewest = Math.Min(_fewest, _segments.Count);
            return true;
        }

        internal void Put(SendSegment segment)
        {
            if (_segments.Count < limit)
            {
                _segments.Push(segment);
            }
        }

        internal void Trim()
        {
            for (; _fewest > 0; _fewest--)
            {
                _segments.Pop();
            }

            _fewest = _segments.Count;
        }
    }
}
