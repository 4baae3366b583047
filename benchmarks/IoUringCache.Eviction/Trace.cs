namespace IoUringCache.Eviction;

/// <summary>A sequence of keys that can be asked for again and again. Immutable.</summary>
/// <param name="Name">In the table.</param>
/// <param name="Keys">One for each request.</param>
internal sealed record Trace(string Name, int[] Keys)
{
    private const int SmallestWeight = 1 << 10;
    private const int WeightSteps = 10;

    /// <summary>1 KiB to 1 MiB, by the key alone; each power of two is as frequent as the others, so small objects are many.</summary>
    public static long WeightOf(int key)
    {
        uint mixed = (uint)key * 2654435761u;
        long low = (long)SmallestWeight << (int)((mixed >> 16) % WeightSteps);
        return low + (mixed % low);
    }

    /// <summary>What it would take to keep everything.</summary>
    public long Footprint => Keys.Distinct().Sum(WeightOf);

    public static IEnumerable<Trace> All(int requests, int seed)
    {
        foreach (double exponent in new[] { 0.7, 0.9, 1.1 })
        {
            yield return new($"zipf {exponent:0.0}", Zipf(requests, exponent, seed));
        }

        yield return new("zipf 0.9 and scans", WithScans(Zipf(requests, 0.9, seed)));
        yield return new("zipf 0.9 and keys that come once", WithNewKeys(Zipf(requests, 0.9, seed), seed));
        yield return new("zipf 0.9, favourites change", Shifting(Zipf(requests, 0.9, seed)));
    }

    private static int Objects(int requests) => Math.Max(1, requests / 20);

    private static int[] Zipf(int requests, double exponent, int seed)
    {
        ZipfSampler sampler = new(Objects(requests), exponent, new Random(seed));
        return [.. Enumerable.Range(0, requests).Select(_ => sampler.Next())];
    }

    /// <summary>Five times a crawler asks for a quarter of all objects, one after the other.</summary>
    private static int[] WithScans(int[] keys)
    {
        int length = Objects(keys.Length) / 4;
        int[] scan = [.. Enumerable.Range(keys.Length, length)];
        return [.. keys.Chunk((keys.Length / 5) + 1).SelectMany(part => part.Concat(scan))];
    }

    /// <summary>Every third request is for something that nobody asks for again.</summary>
    private static int[] WithNewKeys(int[] keys, int seed)
    {
        Random random = new(seed + 1);
        return [.. keys.Select((key, index) => random.Next(3) == 0 ? keys.Length + index : key)];
    }

    /// <summary>Four times all ranks go to other objects.</summary>
    private static int[] Shifting(int[] keys)
    {
        int objects = Objects(keys.Length);
        int period = (keys.Length / 5) + 1;
        return [.. keys.Select((key, index) => (key + (index / period * (objects / 5))) % objects)];
    }
}
