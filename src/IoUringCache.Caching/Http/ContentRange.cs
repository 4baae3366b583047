using System.Globalization;
using Microsoft.Net.Http.Headers;

namespace IoUringCache.Caching.Http;

/// <summary>Which bytes of what a 206 has, of a length that is known (RFC 9110 14.4). Immutable.</summary>
internal readonly record struct ContentRange(ByteRange Range, long CompleteLength)
{
    private const string Unit = "bytes ";

    /// <summary><see langword="null"/> where a head has no such field, or it does not say as much, or cannot be.</summary>
    public static ContentRange? Of(ResponseHead head) =>
        head[HeaderNames.ContentRange] is [{ } text]
        && text.StartsWith(Unit, StringComparison.OrdinalIgnoreCase)
        && text[Unit.Length..].Split('-', '/') is [var first, var last, var length]
        && Parse(first) is { } from && Parse(last) is { } to && Parse(length) is { } all
        && from <= to && to < all
            ? new(new(from, to), all)
            : null;

    private static long? Parse(string digits) => long.TryParse(digits, NumberStyles.None, CultureInfo.InvariantCulture, out long value) ? value : null;
}
