namespace IoUringCache.Caching;

/// <summary>What clients may have by the directives of their requests (RFC 9111 section 5.2.1).</summary>
/// <example><code>
/// builder.Services.Configure&lt;StreamingCacheOptions&gt;(options => options.RequestDirectives = DirectiveUse.Honour);
/// </code></example>
public enum DirectiveUse
{
    /// <summary>
    /// Only <c>no-store</c> and <c>only-if-cached</c> count, which cost the origin nothing that a client could not cost it anyway. The default.
    /// </summary>
    Ignore,

    /// <summary>All of them count: <c>no-cache</c>, <c>max-age</c>, <c>min-fresh</c> and <c>max-stale</c> too.</summary>
    Honour,
}
