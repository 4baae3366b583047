namespace IoUringCache.Caching.Origins;

/// <summary>Failures in a row, those that a key may have caused counted once for each key. Guarded by its circuit's lock.</summary>
internal sealed class FailureRun
{
    /// <summary>Hashes, which the runtime seeds: with a collision, which a client cannot aim at, one failure counts less.</summary>
    private readonly HashSet<int> _keys = [];
    private int _others;

    /// <param name="key">Of the request that failed; <see langword="null"/> where no key makes a difference.</param>
    /// <param name="most">More are not remembered.</param>
    /// <returns>How many there are now.</returns>
    public int Add(string? key, int most)
    {
        if (_keys.Count + _others < most)
        {
            if (key is null)
            {
                _others++;
            }
            else
            {
                _keys.Add(key.GetHashCode());
            }
        }

        return _keys.Count + _others;
    }

    public void Clear()
    {
        _keys.Clear();
        _others = 0;
    }
}
