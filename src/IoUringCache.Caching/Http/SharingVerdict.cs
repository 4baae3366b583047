namespace IoUringCache.Caching.Http;

/// <summary>Who may have a response besides the client that caused it, and for how long. Immutable.</summary>
/// <param name="Refusal">Why nobody else may, as a Cache-Status detail; <see langword="null"/> where the response may be shared.</param>
/// <param name="Lifetime">How long it stays fresh after its origin made it. Zero: never fresh.</param>
/// <param name="IsFreshWhileArriving">
/// True where the origin gives no lifetime and a cache may guess one: the guess is that it lasts until the last byte has come.
/// </param>
internal readonly record struct SharingVerdict(string? Refusal, TimeSpan Lifetime, bool IsFreshWhileArriving)
{
    /// <summary>Of a further slice, which is found through the first one only: that says who may have it, and how long.</summary>
    public static readonly SharingVerdict OfSlice = new(Refusal: null, TimeSpan.FromDays(365), IsFreshWhileArriving: true);

    /// <summary>Age when the headers came.</summary>
    public TimeSpan InitialAge { get; init; }

    /// <summary>Why it was stale then, as a Cache-Status detail; <see langword="null"/> if it was fresh, or has no lifetime.</summary>
    public string? StaleBy { get; init; }

    /// <summary>Fields for the client that caused the response alone; <see langword="null"/> for none.</summary>
    public IReadOnlySet<string>? WithheldFields { get; init; }

    /// <summary>Whom among them it suits.</summary>
    public VaryRule Vary { get => field ?? VaryRule.None; init; }

    /// <summary>
    /// True where the refusal holds only until the origin has been asked again (RFC 9111 5.2.2.2, 5.2.2.4): what is stored may then be
    /// for everybody.
    /// </summary>
    public bool CanShareOnceValidated { get; init; }

    /// <summary>How long it may be served after its lifetime while it is being validated (RFC 5861 3).</summary>
    public TimeSpan StaleWhileRevalidate { get; init; }

    /// <summary>How long it may be served after its lifetime in the place of an error (RFC 5861 4).</summary>
    public TimeSpan StaleIfError { get; init; }

    /// <summary>How long it is worth keeping after its lifetime, to be validated or served stale.</summary>
    public TimeSpan KeptFor { get; init; }

    /// <summary>Whether a client may have it stale that says so (RFC 9111 5.2.1.2).</summary>
    public bool MayBeStale { get; init; }

    public bool CanShare => Refusal is null;

    /// <summary>Whether everybody may have it who waited for the origin to confirm it.</summary>
    public bool CanShareValidated => CanShare || CanShareOnceValidated;

    public bool CanStore => CanShareValidated && Lifetime + KeptFor > InitialAge;
}
