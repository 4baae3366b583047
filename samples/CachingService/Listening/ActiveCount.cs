namespace CachingService.Listening;

/// <summary>A count that threads of many processors change and one reads at times: each processor has a cache line of its own. Any thread.</summary>
internal sealed class ActiveCount
{
    private const int LineLength = 128 / sizeof(long);

    private readonly long[] _counts = new long[Environment.ProcessorCount * LineLength];

    /// <summary>Without changes at the same time it is exact.</summary>
    public long Sum
    {
        get
        {
            long sum = 0;
            for (int line = 0; line < _counts.Length; line += LineLength)
            {
                sum += Volatile.Read(ref _counts[line]);
            }

            return sum;
        }
    }

    /// <param name="change">1 or -1. The thread may be on another processor by the time of the second.</param>
    public void Add(int change) =>
        Interlocked.Add(ref _counts[Thread.GetCurrentProcessorId() % Environment.ProcessorCount * LineLength], change);
}
