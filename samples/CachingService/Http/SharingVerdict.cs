namespace CachingService.Http;

/// <summary>Who may have a response besides the client that caused it. Immutable.</summary>
/// <param name="Refusal">Why nobody else may, as a Cache-Status detail; <see langword="null"/> where the response may be shared.</param>
/// <param name="Lifetime">How long it stays fresh after its origin made it. Zero: not stored.</param>
/// <param name="IsExplicit">True where the origin gave the lifetime; false where it is the configured default.</param>
internal readonly record struct SharingVerdict(string? Refusal, TimeSpan Lifetime, bool IsExplicit)
{
    public bool CanShare => Refusal is null;

    public bool CanStore => CanShare && Lifetime > TimeSpan.Zero;
}
