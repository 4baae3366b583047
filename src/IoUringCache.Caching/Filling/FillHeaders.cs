using IoUringCache.Caching.Origins;
using IoUringCache.Caching.Storage;

namespace IoUringCache.Caching.Filling;

/// <summary>What those who wait for a fill's headers are told. Immutable.</summary>
/// <param name="Refusal">Why only the leader may have the response, as a Cache-Status detail.</param>
/// <param name="Failure">There is no response, and only if <paramref name="Shared"/> is set an old one that stands in for it.</param>
internal sealed record FillHeaders(CachedObject? Shared, string? Refusal, OriginException? Failure)
{
    /// <summary>The origin has not sent <see cref="Shared"/>, but said by a 304 that it is still good.</summary>
    public bool IsValidated { get; init; }

    /// <summary><see cref="Shared"/> comes from the tier below.</summary>
    public bool IsPromoted { get; init; }

    /// <summary><see cref="Shared"/> is compressed from the plain form, which is stored.</summary>
    public bool IsMadeOfPlain { get; init; }

    /// <summary>Whether what is read comes from the store, with an age of ours (RFC 9111 4.3.4, 4.2.4).</summary>
    public bool IsFromStore => IsValidated || IsPromoted || IsMadeOfPlain || Failure is not null;
}
