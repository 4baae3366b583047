namespace CachingService.Storage;

/// <summary>Bytes of bodies (and, once complete, of their headers and keys) by who keeps them. Any thread; one per service.</summary>
internal sealed class MemoryLedger
{
    private long _inFlight;
    private long _stored;
    private long _pinned;

    /// <summary>Held by fills.</summary>
    public long InFlightBytes => Volatile.Read(ref _inFlight);

    /// <summary>Held by the store.</summary>
    public long StoredBytes => Volatile.Read(ref _stored);

    /// <summary>Held by readers alone: evicted, replaced or never stored, and still being sent.</summary>
    public long PinnedBytes => Volatile.Read(ref _pinned);

    public void AddInFlight(long bytes) => Interlocked.Add(ref _inFlight, bytes);

    public void AddStored(long bytes) => Interlocked.Add(ref _stored, bytes);

    public void AddPinned(long bytes) => Interlocked.Add(ref _pinned, bytes);
}
