using IoUringCache.Transport.Internal.Buffers;
using IoUringCache.Transport.Tests.Support;
using IoUringCache.Transport.ZeroCopy;

namespace IoUringCache.Transport.Tests.Buffers;

/// <summary>Whose memory is whose, where segments share it.</summary>
public sealed class SendSegmentPoolTests
{
    private readonly SendSegmentPool _pool = new();

    [Theory]
    [InlineData(0, SendSegmentPool.SmallSize)]
    [InlineData(SendSegmentPool.SmallSize, SendSegmentPool.SmallSize)]
    [InlineData(SendSegmentPool.SmallSize + 1, SendSegmentPool.MediumSize)]
    [InlineData(SendSegmentPool.MediumSize + 1, SendSegmentPool.LargeSize)]
    [InlineData(SendSegmentPool.LargeSize + 1, SendSegmentPool.LargeSize + 1)]
    public void Rent_GivesTheNextSize(int wanted, int given) => Assert.Equal(given, _pool.Rent(wanted).FreeLength);

    [Theory]
    [InlineData(SendSegmentPool.SmallSize, true)]
    [InlineData(SendSegmentPool.MediumSize, true)]
    [InlineData(SendSegmentPool.LargeSize, true)]
    [InlineData(SendSegmentPool.LargeSize + 1, false)]
    public void Return_KeepsTheUsualSizes(int size, bool isKept)
    {
        SendSegment segment = _pool.Rent(size);
        _pool.Return(segment);
        Assert.Equal(isKept, ReferenceEquals(segment, _pool.Rent(size)));
    }

    /// <summary>4,096 readers of one live object: a zero-copy chunk for each, and a short one that is copied.</summary>
    [Fact]
    public void Return_OfThousands_KeepsAll()
    {
        ZeroCopySource chunk = ZeroCopySource.Of(new byte[100]);
        SendSegment[] RentAll() => [.. Enumerable.Range(0, 4096).SelectMany(_ => new[] { _pool.Rent(1), _pool.RentFor(chunk) })];
        SendSegment[] first = RentAll();
        Array.ForEach(first, _pool.Return);
        SendSegment[] second = RentAll();
        Assert.Equal(first.ToHashSet(), second.ToHashSet());
    }

    /// <summary>Readers that are some chunks behind hold a segment for each.</summary>
    [Fact]
    public void Return_OfFourLentChunksForEachReader_KeepsAll()
    {
        ZeroCopySource chunk = ZeroCopySource.Of(new byte[100]);
        SendSegment[] RentAll() => [.. Enumerable.Range(0, 4 * 4096).Select(_ => _pool.RentFor(chunk))];
        SendSegment[] first = RentAll();
        Array.ForEach(first, _pool.Return);
        Assert.Equal(first.ToHashSet(), RentAll().ToHashSet());
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void RentRestOf_MemoryIsFreeWhenBothAreReturned(bool isRestReturnedFirst)
    {
        SendSegment whole = Written(_pool.Rent(1), 100);
        SendSegment rest = Written(_pool.RentRestOf(whole), 50);
        SendSegment restOfRest = Written(_pool.RentRestOf(rest), 25);
        Assert.Equal(SendSegmentPool.SmallSize - 175, restOfRest.FreeLength);
        Assert.Equal(3, _pool.RentedCount);

        SendSegment[] order = isRestReturnedFirst ? [restOfRest, rest, whole] : [whole, rest, restOfRest];
        _pool.Return(order[0]);
        _pool.Return(order[1]);
        Assert.NotSame(whole, _pool.Rent(1));
        _pool.Return(order[2]);
        SendSegment again = _pool.Rent(1);
        Assert.Same(whole, again);
        Assert.Equal((SendSegmentPool.SmallSize, 0), (again.FreeLength, again.Length));
        Assert.Equal(2, _pool.RentedCount);
    }

    [Fact]
    public void TryJoin_TakesWhatFollowsInTheSameMemory()
    {
        SendSegment whole = Written(_pool.Rent(1), 100);
        SendSegment rest = Written(_pool.RentRestOf(whole), 50);
        Assert.True(whole.TryJoin(rest));
        _pool.Return(rest);
        Assert.Equal(Payload.Of(100).Concat(Payload.Of(50)), whole.Unsent.ToArray());

        // What comes then goes behind both.
        SendSegment next = _pool.RentRestOf(whole);
        Assert.Equal(SendSegmentPool.SmallSize - 150, next.FreeLength);
    }

    [Fact]
    public void TryJoin_RefusesWhatLiesElsewhere()
    {
        SendSegment whole = Written(_pool.Rent(1), 100);
        SendSegment rest = Written(_pool.RentRestOf(whole), 50);
        SendSegment restOfRest = Written(_pool.RentRestOf(rest), 25);
        SendSegment zeroCopy = _pool.RentFor(ZeroCopySource.Of(Payload.Of(10)));
        Assert.False(whole.TryJoin(restOfRest));
        Assert.False(whole.TryJoin(Written(_pool.Rent(1), 1)));
        Assert.False(whole.TryJoin(zeroCopy));
        Assert.False(zeroCopy.TryJoin(_pool.RentFor(ZeroCopySource.Of(Payload.Of(10)))));
        Assert.Equal(100, whole.Length);
    }

    private static SendSegment Written(SendSegment segment, int count)
    {
        Payload.Of(count).CopyTo(segment.FreeMemory);
        segment.Written(count);
        return segment;
    }
}
