namespace IoUringCache.Caching.Storage;

/// <summary>
/// What is stored under one key: one response for everybody, which most keys have and which is found without a look at the request's
/// fields, or several variants. Exactly one of the two is set. Immutable.
/// </summary>
internal readonly record struct KeyEntry(CachedObject? ForAll, VariantSet? Variants)
{
    /// <summary>In the order in which they were stored.</summary>
    public CachedObject[] All => Variants?.All ?? [ForAll!];

    /// <param name="all">One or more, the one stored last at the end.</param>
    public static KeyEntry Of(CachedObject[] all) => all is [{ VariantKey: "" } single] ? new(single, null) : new(null, new(all));

    /// <summary>What a request may have, fresh or not.</summary>
    public CachedObject? Find(IHeaderDictionary request) => ForAll ?? Variants!.Find(request);
}
