namespace IoUringCache.Caching.Storage;

/// <summary>What one body being received adds to the ledger. Used by its fill's task alone.</summary>
internal sealed class InFlightShare(MemoryLedger ledger)
{
    private long _bytes;

    /// <summary>Replaces what was said before; 0 at the end.</summary>
    public void Set(long bytes)
    {
        ledger.AddInFlight(bytes - _bytes);
        _bytes = bytes;
    }
}
