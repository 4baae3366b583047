namespace IoUringCache.Scale;

/// <summary>What clients ask for: keys by Zipf's law, and perhaps one key for a share of all requests. One thread.</summary>
internal sealed class Workload
{
    private readonly Random _random;
    private readonly double[] _cumulated;
    private readonly double _hotShare;

    /// <param name="objects">Different keys.</param>
    /// <param name="exponent">Of Zipf's law: rank r comes in proportion to 1 / r^exponent.</param>
    /// <param name="hotShare">Share of requests that are for key 0, from 0 to 1, besides its own.</param>
    /// <param name="seed">Of the random numbers.</param>
    public Workload(int objects, double exponent, double hotShare, int seed)
    {
        (_random, _hotShare, _cumulated) = (new(seed), hotShare, new double[objects]);
        double sum = 0;
        for (int rank = 0; rank < objects; rank++)
        {
            _cumulated[rank] = sum += Math.Pow(rank + 1, -exponent);
        }
    }

    public int Next()
    {
        if (_random.NextDouble() < _hotShare)
        {
            return 0;
        }

        int found = Array.BinarySearch(_cumulated, _random.NextDouble() * _cumulated[^1]);
        return Math.Min(found < 0 ? ~found : found, _cumulated.Length - 1);
    }
}
