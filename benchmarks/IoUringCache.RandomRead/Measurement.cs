using System.Diagnostics;
using System.Globalization;

namespace IoUringCache.RandomRead;

/// <summary>Reads random blocks in batches for some time, checks each, and says how long a batch takes. One thread.</summary>
internal static class Measurement
{
    private const int MaxBatches = 1_000_000;

    public const string Columns =
        "data set,block,method,batch,batches,p50 us,p99 us,p999 us,p9999 us,reads/s,cpu us/read,faults/read,switches/read";

    /// <returns>The figures in the order of <see cref="Columns"/> from the number of batches on.</returns>
    public static string Run(DataFile file, IReadMethod method, Memory<byte>[] blocks, TimeSpan time)
    {
        // Other blocks for each method: of more than memory holds, none finds what the one before it has read.
        Random random = new();
        long[] latencies = new long[MaxBatches];
        long[] offsets = new long[blocks.Length];

        // The code is compiled, and the memory touched, when it counts.
        Batch(file, method, blocks, offsets, random);
        Batch(file, method, blocks, offsets, random);
        int count = 0;
        long reading = 0;
        Usage start = Usage.Now();
        for (long begin = Stopwatch.GetTimestamp(); count < MaxBatches && Stopwatch.GetElapsedTime(begin) < time; count++)
        {
            latencies[count] = Batch(file, method, blocks, offsets, random);
            reading += latencies[count];
        }

        Usage used = Usage.Now() - start;
        Array.Sort(latencies, 0, count);
        double reads = (double)count * blocks.Length;
        return string.Create(
            CultureInfo.InvariantCulture,
            $"{count},{At(0.5):0.0},{At(0.99):0.0},{At(0.999):0.0},{At(0.9999):0.0},{reads * Stopwatch.Frequency / reading:0},"
            + $"{used.Cpu.TotalMicroseconds / reads:0.00},{used.Faults / reads:0.000},{used.Switches / reads:0.000}");

        double At(double share) => Stopwatch.GetElapsedTime(0, latencies[(int)(share * (count - 1))]).TotalMicroseconds;
    }

    /// <returns>Ticks that the reads took; the check is not among them.</returns>
    private static long Batch(DataFile file, IReadMethod method, Memory<byte>[] blocks, long[] offsets, Random random)
    {
        for (int index = 0; index < offsets.Length; index++)
        {
            offsets[index] = random.NextInt64(file.BlockCount) * file.BlockBytes;
        }

        long begin = Stopwatch.GetTimestamp();
        method.Read(offsets, blocks);
        long taken = Stopwatch.GetTimestamp() - begin;
        for (int index = 0; index < offsets.Length; index++)
        {
            DataFile.Check(blocks[index].Span, offsets[index] / file.BlockBytes);
        }

        return taken;
    }
}
