using CachingService.Origins;
using CachingService.Storage;

namespace CachingService.Filling;

/// <summary>
/// What those who wait for a fill's headers are told; exactly one of the three is set. Immutable.
/// </summary>
/// <param name="Shared">Read this.</param>
/// <param name="Refusal">Why only the leader may have the response, as a Cache-Status detail.</param>
/// <param name="Failure">There is no response.</param>
internal readonly record struct FillHeaders(CachedObject? Shared, string? Refusal, OriginException? Failure);
