namespace IoUringCache.Caching.Origins;

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
