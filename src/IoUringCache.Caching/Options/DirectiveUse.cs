namespace IoUringCache.Caching.Options;

/// <summary>What clients may have by the directives of their requests (RFC 9111 5.2.1).</summary>
internal enum DirectiveUse
{
    /// <summary>Only <c>no-store</c> and <c>only-if-cached</c> count, which cost the origin nothing that a client could not cost it anyway.</summary>
    Ignore,

    /// <summary>All of them count.</summary>
    Honour,
}
