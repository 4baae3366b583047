using System.Globalization;

namespace IoUringCache.Caching.Options;

/// <summary>So many requests in a second, a minute or an hour. Immutable; any thread; equal to another of the same numbers.</summary>
/// <param name="Count">Requests, 1 to 1,000,000.</param>
internal sealed record RequestRate(int Count, TimeSpan Period)
{
    private const int MaxCount = 1_000_000;

    private static readonly (string Suffix, TimeSpan Period)[] s_periods =
        [("/s", TimeSpan.FromSeconds(1)), ("/m", TimeSpan.FromMinutes(1)), ("/h", TimeSpan.FromHours(1))];

    /// <summary>Time from one request to the next at this rate.</summary>
    public TimeSpan Interval => Period / Count;

    /// <summary>Requests of one second, at least 1.</summary>
    public int CountOfOneSecond => (int)Math.Max(1, Count / Period.TotalSeconds);

    /// <summary>Reads <c>100</c>, <c>100/s</c>, <c>600/m</c> or <c>50/h</c>.</summary>
    /// <returns><see langword="null"/> for an empty text and for 0: there is no limit.</returns>
    /// <exception cref="FormatException">The text is none of these.</exception>
    public static RequestRate? ParseOptional(string text)
    {
        (string suffix, TimeSpan period) = s_periods
            .Where(item => text.EndsWith(item.Suffix, StringComparison.Ordinal))
            .FirstOrDefault(("", TimeSpan.FromSeconds(1)));
        return text.Length == 0 ? null
            : !int.TryParse(text[..^suffix.Length], NumberStyles.None, CultureInfo.InvariantCulture, out int count) || count > MaxCount
                ? throw new FormatException($"expected 0 to {MaxCount} requests in a second, or with /m in a minute, or with /h in an hour.")
            : count == 0 ? null
            : new(count, period);
    }

    /// <summary>As <see cref="ParseOptional"/> reads it.</summary>
    public override string ToString() => string.Create(CultureInfo.InvariantCulture, $"{Count}{s_periods.First(item => item.Period == Period).Suffix}");
}
