using System.Runtime.Versioning;
using BenchmarkDotNet.Attributes;
using IoUringCache.Ring;

namespace IoUringCache.Benchmarks;

/// <summary>
/// Operations that do nothing, submitted and completed in batches: the ceiling for everything built on the ring, and what one system
/// call costs when a batch shares it. Times are per operation.
/// </summary>
[SupportedOSPlatform("linux")]
public class RingBenchmarks
{
    private const int Operations = 256;

    private readonly Completion[] _completions = new Completion[Operations];
    private KernelRing _ring = null!;

    /// <summary>Operations per system call.</summary>
    [Params(1, 16, 256)]
    public int BatchSize { get; set; }

    [GlobalSetup]
    public void Create()
    {
        _ring = KernelRing.Create(new RingOptions { SubmissionEntries = Operations });
        if (NoOperations() != Operations)
        {
            throw new InvalidOperationException("the ring lost completions, so its speed means nothing");
        }
    }

    [Benchmark(OperationsPerInvoke = Operations)]
    public int NoOperations()
    {
        int completed = 0;
        for (int batch = 0; batch < Operations / BatchSize; batch++)
        {
            for (int slot = 0; slot < BatchSize; slot++)
            {
                _ring.Submissions.PrepareNop(new UserData(kind: 1, generation: 0, slot));
            }

            _ring.SubmitAndWait(BatchSize);
            completed += _ring.Completions.Drain(_completions);
        }

        return completed;
    }

    [GlobalCleanup]
    public void Close() => _ring.Dispose();
}
