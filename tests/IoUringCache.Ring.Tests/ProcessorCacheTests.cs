namespace IoUringCache.Ring.Tests;

public sealed class ProcessorCacheTests
{
    /// <summary>A hint may be about memory that ends behind a small object: here it goes on far behind the heap.</summary>
    [Fact]
    public void Prefetch_OfMemoryThatIsNotThere_DoesNotFault()
    {
        const int LinesOf256Mebibytes = 256 * 1024 * 1024 / 64;
        int[] numbers = [1, 2, 3];
        ProcessorCache.Prefetch(numbers, LinesOf256Mebibytes);
        Assert.Equal([1, 2, 3], numbers);
    }
}
