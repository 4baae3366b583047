namespace CachingService.Serving;

/// <summary>Feature of a request whose target has passed the gate. Immutable.</summary>
/// <param name="PathAndQuery">Raw, in origin form.</param>
internal sealed record CheckedTarget(string PathAndQuery);
