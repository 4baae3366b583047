namespace IoUringCache.Caching.Storage;

/// <summary>
/// Looks through all stored objects, some at a time, for those that a purge has made useless. One that comes while it runs has it begin
/// anew at the end, and not at once, so that purges in a row cannot keep it from getting there. Not thread-safe: the store calls it under its
/// lock.
/// </summary>
internal sealed class ReclaimPass
{
    private ExpiryOrder.Rank _place;
    private int _passesLeft;

    public bool IsRunning => _passesLeft > 0;

    /// <summary>There has been a purge: two passes are enough for all that there were before this call.</summary>
    public void Start() => _passesLeft = _passesLeft == 0 ? 1 : 2;

    /// <summary>Those that are gone among the next so many.</summary>
    public List<CachedObject> LookAt(ExpiryOrder order, int most)
    {
        if (!IsRunning)
        {
            return [];
        }

        List<CachedObject> next = order.After(ref _place, most);
        if (next.Count < most)
        {
            (_place, _passesLeft) = (default, _passesLeft - 1);
        }

        next.RemoveAll(static stored => !stored.IsGone);
        return next;
    }
}
