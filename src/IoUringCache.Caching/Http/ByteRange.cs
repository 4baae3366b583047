using System.Globalization;

namespace IoUringCache.Caching.Http;

/// <summary>Bytes of a body, both ends included, counted from 0. Immutable.</summary>
internal readonly record struct ByteRange(long First, long Last)
{
    public long Length => Last - First + 1;

    /// <summary>Whether the two have a byte in common, or none between them.</summary>
    public bool Touches(ByteRange other) => First <= other.Last + 1 && other.First <= Last + 1;

    /// <summary>One range for two that touch.</summary>
    public ByteRange MergedWith(ByteRange other) => new(Math.Min(First, other.First), Math.Max(Last, other.Last));

    /// <summary>Value of <c>Content-Range</c> (RFC 9110 14.4).</summary>
    /// <param name="completeLength">Length of the whole body; <see langword="null"/> where nobody knows it yet.</param>
    public string ToContentRange(long? completeLength) => string.Create(
        CultureInfo.InvariantCulture, $"bytes {First}-{Last}/{completeLength?.ToString(CultureInfo.InvariantCulture) ?? "*"}");
}
