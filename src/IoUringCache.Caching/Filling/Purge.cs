namespace IoUringCache.Caching.Filling;

/// <summary>A purge by an operator, the application or a response of the origin. Immutable; any thread.</summary>
/// <param name="Name">The key, the tag or the prefix; empty for everything.</param>
/// <param name="IsSoft">Stale from now on; else gone.</param>
internal readonly record struct Purge(PurgeScope Scope, string Name, bool IsSoft)
{
    /// <summary>The scope as answers and metrics name it.</summary>
    public string Kind => Scope switch
    {
        PurgeScope.Key => "key",
        PurgeScope.Tag => "tag",
        PurgeScope.Prefix => "prefix",
        _ => "all",
    };

    public static Purge OfKey(string key, bool isSoft) => new(PurgeScope.Key, key, isSoft);

    public static Purge OfTag(string tag, bool isSoft) => new(PurgeScope.Tag, tag, isSoft);

    /// <param name="prefix">One that <see cref="Http.KeyPrefixes.IsPrefix"/> finds right.</param>
    public static Purge OfPrefix(string prefix, bool isSoft) => new(PurgeScope.Prefix, prefix, isSoft);

    public static Purge OfAll(bool isSoft) => new(PurgeScope.All, "", isSoft);
}

/// <summary>How much a purge takes out of use.</summary>
internal enum PurgeScope
{
    /// <summary>One key with all its variants.</summary>
    Key,

    Tag,

    Prefix,

    All,
}
