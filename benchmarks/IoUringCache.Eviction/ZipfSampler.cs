namespace IoUringCache.Eviction;

/// <summary>Ranks from 0 by Zipf's law: rank r comes in proportion to 1 / (r + 1)^exponent. One thread.</summary>
internal sealed class ZipfSampler
{
    private readonly Random _random;
    private readonly double[] _cumulated;

    public ZipfSampler(int count, double exponent, Random random)
    {
        _random = random;
        _cumulated = new double[count];
        double sum = 0;
        for (int rank = 0; rank < count; rank++)
        {
            _cumulated[rank] = sum += Math.Pow(rank + 1, -exponent);
        }
    }

    public int Next()
    {
        int found = Array.BinarySearch(_cumulated, _random.NextDouble() * _cumulated[^1]);
        return Math.Min(found < 0 ? ~found : found, _cumulated.Length - 1);
    }
}
