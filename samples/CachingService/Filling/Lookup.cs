using CachingService.Storage;

namespace CachingService.Filling;

/// <summary>The outcome of a look-up; exactly one of the three is set. Immutable.</summary>
/// <param name="Hit">Stored, and fresh or allowed to be stale.</param>
/// <param name="Reader">Joined a fill, or started one (see its role).</param>
/// <param name="Overload">The cap that was reached, as a Cache-Status detail.</param>
internal readonly record struct Lookup(CachedObject? Hit, FillReader? Reader, string? Overload);
