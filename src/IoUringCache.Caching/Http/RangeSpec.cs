namespace IoUringCache.Caching.Http;

/// <summary>
/// One member of a <c>Range</c> field (RFC 9110 14.1.2), before anybody knows the length: <c>a-b</c>, <c>a-</c>, or, without a first
/// position, <c>-n</c>, the last n bytes. Immutable.
/// </summary>
/// <param name="First">First position.</param>
/// <param name="Last">Last position, or the number of last bytes.</param>
internal readonly record struct RangeSpec(long? First, long? Last)
{
    /// <summary>What it means for a body of this length; <see langword="null"/> if it names none of its bytes.</summary>
    public ByteRange? Within(long length) => this switch
    {
        { First: { } first } => first < length ? new(first, Math.Min(Last ?? long.MaxValue, length - 1)) : null,
        { Last: { } count } => count > 0 && length > 0 ? new(length - Math.Min(count, length), length - 1) : null,
        _ => null,
    };
}
