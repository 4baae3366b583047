namespace IoUringCache.Caching.Storage;

/// <summary>The copy of an object in the tier below. Any thread.</summary>
internal interface ILowerCopy
{
    /// <summary>Whether it is still there, or on its way there.</summary>
    bool IsThere { get; }
}
