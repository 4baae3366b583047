namespace IoUringCache.Caching.Origins;

/// <summary>One request's place at an address of the origin, from its being sent to the end of the answer. Used by that request.</summary>
/// <param name="circuit">Of the address; told of what the request meets.</param>
/// <param name="places">Where the place came from.</param>
/// <param name="isTrial">The request tries whether the address is back.</param>
internal sealed class OriginPlace(OriginCircuit circuit, PlaceCount places, bool isTrial) : IDisposable
{
    private bool _isOnTrial = isTrial;
    private bool _isReturned;

    /// <summary>The outcome is known, or there will be none.</summary>
    public void EndTrial()
    {
        if (_isOnTrial)
        {
            _isOnTrial = false;
            circuit.EndTrial();
        }
    }

    public void Dispose()
    {
        EndTrial();
        if (!_isReturned)
        {
            _isReturned = true;
            places.Return();
        }
    }
}

/// <summary>So many at a time. Any thread.</summary>
internal sealed class PlaceCount(int limit)
{
    private int _taken;

    public bool TryTake()
    {
        if (Interlocked.Increment(ref _taken) <= limit)
        {
            return true;
        }

        Return();
        return false;
    }

    public void Return() => Interlocked.Decrement(ref _taken);
}
