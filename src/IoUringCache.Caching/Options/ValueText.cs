using System.Globalization;

namespace IoUringCache.Caching.Options;

/// <summary>The text that <see cref="ValueParser"/> reads as a given value. Any thread.</summary>
internal static class ValueText
{
    public static string Of(object? value) => value switch
    {
        null => "",
        TimeSpan duration => string.Create(CultureInfo.InvariantCulture, $"{duration.TotalSeconds:0.#######}s"),
        IEnumerable<string> names => string.Join(',', names),
        IEnumerable<int> statuses => string.Join(',', statuses),
        IFormattable number => number.ToString(null, CultureInfo.InvariantCulture),
        _ => value.ToString() ?? "",
    };
}
