namespace IoUringCache.Ring.Tests;

public sealed class ProcessorCacheTests
{
    private const int LinesOfManyMebibytes = 256 * 1024 * 1024 / 64;

    [Theory]
    [InlineData(1)]
    [InlineData(LinesOfManyMebibytes)] // Far behind what the heap has.
    public void Prefetch_OfMemoryThatIsNotThere_DoesNotFault(int lineCount)
    {
        int[] numbers = [1, 2, 3];
        ProcessorCache.Prefetch(numbers, lineCount);
        Assert.Equal([1, 2, 3], numbers);
    }
}
