using System.Globalization;
using IoUringCache.Scale;

const string Help =
    """
    IoUringCache.Scale [--requests N] [--objects N] [--seed N]

    What a cluster of 3 to 1,000 nodes behind a load balancer with consistent hashing does, by simulation, as Markdown tables. The same seed
    gives the same tables. docs/design/scale.md says what follows from them.

      --requests   Requests of each row, 1000 to 1000000000. Default: 2000000.
      --objects    Different objects, 1000 to 100000000. Default: 1000000.
      --seed       Default: 1.
      --help       This text.
    """;

const double Bounded = 1.5;
int[] sizes = [3, 10, 30, 100, 300, 1000];
(int requests, int objects, int seed) = (2_000_000, 1_000_000, 1);
for (int index = 0; index < args.Length; index += 2)
{
    string? value = index + 1 < args.Length ? args[index + 1] : null;
    switch (args[index])
    {
        case "--help":
            Console.WriteLine(Help);
            return 0;
        case "--requests" when int.TryParse(value, NumberStyles.None, CultureInfo.InvariantCulture, out requests) && requests is >= 1_000 and <= 1_000_000_000:
        case "--objects" when int.TryParse(value, NumberStyles.None, CultureInfo.InvariantCulture, out objects) && objects is >= 1_000 and <= 100_000_000:
        case "--seed" when int.TryParse(value, NumberStyles.None, CultureInfo.InvariantCulture, out seed):
            break;
        default:
            Console.Error.WriteLine($"IoUringCache.Scale: {args[index]}: unknown option or wrong value. Run with --help for the options.");
            return 2;
    }
}

// A hundredth of all objects fits a node: a hundred nodes hold everything once.
int capacity = objects / 100;
Write("Zipf's exponent and number of nodes, bounded load, no shield: hit ratio / requests to the origin per object / peak of a node");
Table("nodes", ["0.9", "1.0", "1.1", "1.2"], sizes, (size, column) =>
{
    Result result = Warm(size, 0, Bounded, 0.9 + (0.1 * column), hotShare: 0);
    return string.Create(CultureInfo.InvariantCulture, $"{result.HitRatio:0.000} / {result.PerObject:0.00} / {result.Peak:0.00}");
});
Write("One key with 30 % of the requests, exponent 1.0: requests to the origin per object / peak of a node");
Table("nodes", ["hash alone", "bounded load", "bounded load and shields"], sizes, (size, column) =>
{
    Result result = Warm(size, column == 2 ? Math.Max(2, size / 10) : 0, column == 0 ? double.PositiveInfinity : Bounded, 1.0, hotShare: 0.3);
    return string.Create(CultureInfo.InvariantCulture, $"{result.PerObject:0.00} / {result.Peak:0.00}");
});
Write("Loss of a node, exponent 1.0, bounded load: requests to the origin, in percent of all, before and after");
Table("nodes", ["no shield", "shields"], sizes, (size, column) =>
{
    Workload workload = new(objects, 1.0, hotShare: 0, seed);
    Cluster cluster = new(size, capacity, column == 0 ? 0 : Math.Max(2, size / 10), Bounded);
    cluster.Serve(workload, requests);
    Result before = cluster.Serve(workload, requests / 10);
    Result after = cluster.Serve(workload, requests / 10, without: 0);
    return string.Create(CultureInfo.InvariantCulture, $"{100 * before.OriginShare:0.0} / {100 * after.OriginShare:0.0}");
});
return 0;

Result Warm(int size, int shields, double balance, double exponent, double hotShare)
{
    Workload workload = new(objects, exponent, hotShare, seed);
    Cluster cluster = new(size, capacity, shields, balance);
    return cluster.Serve(workload, requests);
}

void Write(string title) => Console.WriteLine($"\n{title}\n");

void Table(string corner, string[] columns, int[] rows, Func<int, int, string> measure)
{
    Console.WriteLine($"| {corner} | {string.Join(" | ", columns)} |");
    Console.WriteLine($"|---:|{string.Concat(columns.Select(static _ => "---:|"))}");
    foreach (int row in rows)
    {
        Console.WriteLine($"| {row} | {string.Join(" | ", columns.Select((_, column) => measure(row, column)))} |");
    }
}
