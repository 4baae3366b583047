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
