using IoUringCache.Caching.Storage;

namespace IoUringCache.Caching.Filling;

/// <summary>The outcome of a look-up; exactly one of the four is set. Immutable.</summary>
internal readonly record struct Lookup
{
    /// <summary>Stored, and fresh or allowed to be stale.</summary>
    public CachedObject? Hit { get; init; }

    /// <summary>Joined a fill, or started one (see its role).</summary>
    public FillReader? Reader { get; init; }

    /// <summary>The cap that was reached, as a Cache-Status detail.</summary>
    public string? Overload { get; init; }

    /// <summary>Why the request must go to the origin alone, as a Cache-Status detail.</summary>
    public string? Refusal { get; init; }
}
