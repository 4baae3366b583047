namespace CachingService.Http;

/// <summary>Who may have a response besides the client that caused it, and for how long. Immutable.</summary>
/// <param name="Refusal">Why nobody else may, as a Cache-Status detail; <see langword="null"/> where the response may be shared.</param>
/// <param name="Lifetime">How long it stays fresh after its origin made it. Zero: not stored.</param>
/// <param name="IsFreshWhileArriving">
/// True where the origin gives no lifetime and a cache may guess one: the guess is that it lasts until the last byte has come.
/// </param>
internal readonly record struct SharingVerdict(string? Refusal, TimeSpan Lifetime, bool IsFreshWhileArriving)
{
    /// <summary>Age when the headers came.</summary>
    public TimeSpan InitialAge { get; init; }

    /// <summary>Fields for the client that caused the response alone; <see langword="null"/> for none.</summary>
    public IReadOnlySet<string>? WithheldFields { get; init; }

    public bool CanShare => Refusal is null;

    public bool CanStore => CanShare && Lifetime > InitialAge;
}
