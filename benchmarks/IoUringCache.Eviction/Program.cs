using System.Globalization;
using IoUringCache.Eviction;

const string Help =
    """
    IoUringCache.Eviction [--requests N] [--seed N]

    Hit ratios of the caching service's order of eviction beside others, on generated traces, as a Markdown table. The same seed gives the
    same table.

      --requests   Requests of a trace, 1000 to 100000000. Default: 1000000. A twentieth of it is the number of objects.
      --seed       Default: 1.
      --help       This text.
    """;

(string Name, Func<IEvictionOrder> Make)[] orders =
[
    ("S3-FIFO", () => new S3Fifo()), ("SIEVE", () => new Sieve()), ("LRU", () => new Lru()), ("second chance", () => new SecondChance()),
];
(int requests, int seed) = (1_000_000, 1);
for (int index = 0; index < args.Length; index += 2)
{
    string? value = index + 1 < args.Length ? args[index + 1] : null;
    switch (args[index])
    {
        case "--help":
            Console.WriteLine(Help);
            return 0;
        case "--requests" when int.TryParse(value, NumberStyles.None, CultureInfo.InvariantCulture, out requests) && requests is >= 1_000 and <= 100_000_000:
            break;
        case "--seed" when int.TryParse(value, NumberStyles.None, CultureInfo.InvariantCulture, out seed):
            break;
        default:
            Console.Error.WriteLine($"IoUringCache.Eviction: {args[index]}: unknown option or wrong value. Run with --help for the options.");
            return 2;
    }
}

Console.WriteLine($"| trace | memory | {string.Join(" | ", orders.Select(order => order.Name))} |");
Console.WriteLine($"|---|---:|{string.Concat(orders.Select(_ => "---:|"))}");
foreach (Trace trace in Trace.All(requests, seed))
{
    long footprint = trace.Footprint;
    foreach (double share in new[] { 0.01, 0.1, 0.3 })
    {
        IEnumerable<string> cells = orders.Select(order => Measure(order.Make(), trace, (long)(share * footprint)));
        Console.WriteLine($"| {trace.Name} | {share:P0} | {string.Join(" | ", cells)} |");
    }
}

return 0;

static string Measure(IEvictionOrder order, Trace trace, long maxBytes)
{
    SimulatedCache cache = new(order, maxBytes);
    foreach (int key in trace.Keys)
    {
        cache.Request(key, Trace.WeightOf(key));
    }

    return string.Create(CultureInfo.InvariantCulture, $"{100 * cache.HitRatio:0.0} / {100 * cache.ByteHitRatio:0.0}");
}
