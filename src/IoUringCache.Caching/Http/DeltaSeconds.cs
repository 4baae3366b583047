using System.Globalization;

namespace IoUringCache.Caching.Http;

/// <summary>Reads the durations of RFC 9111 1.2.2, in whole seconds. Any thread.</summary>
internal static class DeltaSeconds
{
    /// <summary>What a number that does not fit counts as.</summary>
    private static readonly TimeSpan s_longest = TimeSpan.FromSeconds(1L << 31);

    /// <summary>False for what is no row of digits.</summary>
    public static bool TryParse(ReadOnlySpan<char> text, out TimeSpan value)
    {
        long? seconds = DigitText.Parse(text);
        value = seconds is not { } number ? TimeSpan.Zero
            : number < s_longest.TotalSeconds ? TimeSpan.FromSeconds(number)
            : s_longest;
        return seconds is not null;
    }
}

/// <summary>Reads numbers that are nothing but digits. Any thread.</summary>
internal static class DigitText
{
    /// <summary><see langword="null"/> for what is no row of digits. What does not fit counts as the largest number that does.</summary>
    public static long? Parse(ReadOnlySpan<char> text) =>
        text.IsEmpty || text.ContainsAnyExceptInRange('0', '9') ? null
        : long.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out long value) ? value
        : long.MaxValue;
}
