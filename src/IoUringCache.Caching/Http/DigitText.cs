using System.Globalization;

namespace IoUringCache.Caching.Http;

/// <summary>Reads numbers that are nothing but digits. Any thread.</summary>
internal static class DigitText
{
    /// <summary><see langword="null"/> for what is no row of digits. What does not fit counts as the largest number that does.</summary>
    public static long? Parse(ReadOnlySpan<char> text) =>
        text.IsEmpty || text.ContainsAnyExceptInRange('0', '9') ? null
        : long.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out long value) ? value
        : long.MaxValue;
}
