using System.Globalization;
using IoUringCache.Caching.Options;
using IoUringCache.RandomRead;

const string Help =
    """
    IoUringCache.RandomRead [--directory PATH] [--sizes SIZES] [--blocks SIZES] [--seconds N]

    Random reads of a file by every method, in batches of 1, 4 and 32, as comma-separated values: latency of a batch, CPU, page faults and
    context switches of a read. Every block is checked. benchmarks/random-read.py makes tables and plots of them.

      --directory  Where the files are made, and deleted. Default: the current one.
      --sizes      Data sets. More than the machine's memory shows what the page cache is worth. Default: 64KiB,64MiB,1GiB
      --blocks     Bytes of one read, multiples of 4096. Default: 4KiB,64KiB
      --seconds    For each line. Default: 1
      --help       This text.
    """;

int[] batches = [1, 4, 32];
(string directory, long[] sizes, long[] blocks, TimeSpan time) = (".", [1L << 16, 1L << 26, 1L << 30], [4096, 65536], TimeSpan.FromSeconds(1));
for (int index = 0; index < args.Length; index += 2)
{
    string value = index + 1 < args.Length ? args[index + 1] : "";
    try
    {
        switch (args[index])
        {
            case "--help":
                Console.WriteLine(Help);
                return 0;
            case "--directory" when Directory.Exists(value):
                directory = value;
                break;
            case "--sizes":
                sizes = Sizes(value, 1L << 16, 1L << 44);
                break;
            case "--blocks":
                blocks = Sizes(value, 4096, 1 << 20);
                break;
            case "--seconds":
                time = TimeSpan.FromSeconds(double.Parse(value, NumberStyles.AllowDecimalPoint, CultureInfo.InvariantCulture));
                break;
            default:
                throw new FormatException("unknown option or wrong value.");
        }
    }
    catch (FormatException fault)
    {
        Console.Error.WriteLine($"IoUringCache.RandomRead: {args[index]}: {fault.Message} Run with --help for the options.");
        return 2;
    }
}

Console.WriteLine(Measurement.Columns);
foreach (long size in sizes)
{
    foreach (int block in blocks.Select(block => (int)block).Where(block => block <= size))
    {
        using DataFile data = new(Path.Combine(directory, $"random-read-{Environment.ProcessId}"), size, block);
        data.WarmUp();
        foreach (Contestant contestant in Contestant.All)
        {
            foreach (int batch in batches)
            {
                string name = contestant.Name.Replace(",", "", StringComparison.Ordinal);
                Console.WriteLine($"{size},{block},{name},{batch},{contestant.Measure(data, batch, time)}");
            }
        }
    }
}

return 0;

static long[] Sizes(string text, long minimum, long maximum) =>
    [.. text.Split(',').Select(size => ValueParser.Bytes(size, minimum, maximum) is var bytes && bytes % 4096 == 0
        ? bytes : throw new FormatException("expected multiples of 4096."))];
