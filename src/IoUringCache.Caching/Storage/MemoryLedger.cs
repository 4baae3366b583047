namespace IoUringCache.Caching.Storage;

/// <summary>Bytes of bodies (and, once complete, of their headers and keys) by who keeps them. Any thread; one per service.</summary>
internal sealed class MemoryLedger(long maxPinnedBytes = long.MaxValue)
{
    private long _inFlight;
    private long _stored;

    /// <summary>Where the bytes lie.</summary>
    public BodyMemory Bodies { get; init; } = BodyMemory.Arrays;

    /// <summary>Held by fills.</summary>
    public long InFlightBytes => Volatile.Read(ref _inFlight);

    /// <summary>Held by the store.</summary>
    public long StoredBytes => Volatile.Read(ref _stored);

    /// <summary>Held by readers alone: evicted, replaced or never stored, and still being sent.</summary>
    public PinnedObjects Pinned { get; } = new(maxPinnedBytes);

    public long PinnedBytes => Pinned.Bytes;

    public void AddInFlight(long bytes) => Interlocked.Add(ref _inFlight, bytes);

    public void AddStored(long bytes) => Interlocked.Add(ref _stored, bytes);
}

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
