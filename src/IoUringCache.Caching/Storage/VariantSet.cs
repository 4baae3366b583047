using IoUringCache.Caching.Http;

namespace IoUringCache.Caching.Storage;

/// <summary>
/// The responses stored under one key that differ by request fields (RFC 9111 4.1), found by hash. They need not agree in their
/// <c>Vary</c>: an error page without any does not make the variants of the page wrong, and they are found again when it has expired.
/// Immutable; any thread.
/// </summary>
internal sealed class VariantSet
{
    private readonly Dictionary<string, CachedObject> _byVariant;
    private readonly VaryRule[] _rules;

    /// <param name="all">Each of another variant, the one stored last at the end.</param>
    public VariantSet(CachedObject[] all)
    {
        All = all;
        _byVariant = all.ToDictionary(entry => entry.VariantKey, StringComparer.Ordinal);
        _rules = [.. all.Reverse().Select(entry => entry.Verdict.Vary).Distinct()];
    }

    /// <summary>In the order in which they were stored.</summary>
    public CachedObject[] All { get; }

    /// <summary>How responses differ by the latest that says so; <see cref="VaryRule.None"/> if none does.</summary>
    public VaryRule Vary => _rules.FirstOrDefault(rule => !rule.Equals(VaryRule.None), VaryRule.None);

    /// <summary>What a request may have: of several the fresh ones, of these the latest (RFC 9111 4).</summary>
    public CachedObject? Find(IHeaderDictionary request)
    {
        CachedObject? best = null;
        foreach (VaryRule rule in _rules)
        {
            if (_byVariant.TryGetValue(rule.KeyOf(request), out CachedObject? candidate) && (best is null || candidate.IsPreferableTo(best)))
            {
                best = candidate;
            }
        }

        return best;
    }
}
