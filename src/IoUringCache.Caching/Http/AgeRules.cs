using Microsoft.Net.Http.Headers;

namespace IoUringCache.Caching.Http;

/// <summary>How old a response is when it comes (RFC 9111 4.2.3). What it ages afterwards is up to who keeps it. Any thread.</summary>
internal static class AgeRules
{
    /// <summary>Why a response is stale when it comes, as a Cache-Status detail: by its <c>Age</c> and the time that the answer took.</summary>
    public const string StaleByAge = "stale-by-age";

    /// <summary>The same: by its <c>Date</c> alone. Unless a cache on the way sends no <c>Age</c>, one of the clocks is wrong.</summary>
    public const string StaleByDate = "stale-by-date";

    /// <summary>The same: by the word of the cache that it came from.</summary>
    public const string StaleByCache = "stale-by-cache";

    /// <summary>
    /// <c>corrected_initial_age</c>: the greater of what the clocks say (<c>apparent_age</c>) and what the caches on the way and the
    /// time that the answer took add up to (<c>corrected_age_value</c>). Never negative.
    /// </summary>
    public static TimeSpan InitialAgeOf(ResponseHead head, Receipt receipt)
    {
        TimeSpan apparent = receipt.Time - DateOf(head, receipt);
        TimeSpan corrected = CorrectedAgeOf(head, receipt);
        return apparent > corrected ? apparent : corrected;
    }

    /// <summary>What makes a response stale when it comes; <see langword="null"/> if it is fresh then, or has no lifetime anyway.</summary>
    public static string? ReasonOfStaleness(ResponseHead head, Receipt receipt, TimeSpan lifetime) =>
        lifetime == TimeSpan.Zero || InitialAgeOf(head, receipt) < lifetime ? null
        : CorrectedAgeOf(head, receipt) < lifetime ? StaleByDate
        : StaleByAge;

    /// <summary>When the origin made the response: its <c>Date</c>, else the time of receipt (RFC 9110 6.6.1).</summary>
    public static DateTimeOffset DateOf(ResponseHead head, Receipt receipt) =>
        HttpDate.TryParse(head[HeaderNames.Date].ToString(), receipt.Time, out DateTimeOffset date) ? date : receipt.Time;

    private static TimeSpan CorrectedAgeOf(ResponseHead head, Receipt receipt) => AgeValueOf(head) + receipt.Delay;

    /// <summary>The first value of <c>Age</c>, if it is a number (RFC 9111 5.1).</summary>
    private static TimeSpan AgeValueOf(ResponseHead head)
    {
        ReadOnlySpan<char> text = head[HeaderNames.Age].ToString();
        int end = text.IndexOf(',');
        return DeltaSeconds.TryParse((end < 0 ? text : text[..end]).Trim(), out TimeSpan age) ? age : TimeSpan.Zero;
    }
}

/// <summary>When a response came: <c>response_time</c> and <c>response_delay</c> of RFC 9111 4.2.3. Immutable.</summary>
/// <param name="Time">Our clock when the headers came.</param>
/// <param name="Delay">From the request's start, connecting included, to the headers.</param>
internal readonly record struct Receipt(DateTimeOffset Time, TimeSpan Delay);
