using Microsoft.Extensions.Primitives;
using Microsoft.Net.Http.Headers;

namespace IoUringCache.Caching.Http;

/// <summary>How long a response is fresh after its origin made it (RFC 9111 4.2.1, 4.2.2). Any thread.</summary>
internal static class LifetimeRules
{
    /// <summary>RFC 9111 4.2.2 names this part of the time since the last change as typical.</summary>
    private const int HeuristicDivisor = 10;

    /// <summary>
    /// What the origin says: s-maxage, else max-age, else Expires minus Date; or what counts in its place. <see langword="null"/> where it says nothing.
    /// </summary>
    /// <param name="control">Its Cache-Control, or a targeted field in the place of that.</param>
    /// <param name="isTargeted">True for a targeted field, beside which Expires does not count (RFC 9213 2.2).</param>
    /// <param name="policy">May have it not count, for a status that is no error.</param>
    public static TimeSpan? GivenBy(ResponseHead head, CacheControl control, bool isTargeted, Receipt receipt, FreshnessPolicy policy)
    {
        if (policy.ForcedTtl is { } forced && head.StatusCode < StatusCodes.Status400BadRequest && StatusRules.IsHeuristicallyCacheable(head.StatusCode))
        {
            return forced;
        }

        if ((control.SharedMaxAge ?? control.MaxAge) is { } lifetime)
        {
            return lifetime;
        }

        StringValues expires = head[HeaderNames.Expires];
        if (isTargeted || expires.Count == 0)
        {
            return null;
        }

        // What is no date, two of them included, lies in the past (RFC 9111 5.3).
        return HttpDate.TryParse(expires.ToString(), receipt.Time, out DateTimeOffset end)
            ? Positive(end - AgeRules.DateOf(head, receipt))
            : TimeSpan.Zero;
    }

    /// <summary>What the options say where the origin says nothing.</summary>
    public static TimeSpan Configured(ResponseHead head, bool isPublic, Receipt receipt, FreshnessPolicy policy) => head.StatusCode switch
    {
        int status when policy.NegativeStatuses.Contains(status) && policy.NegativeTtl > TimeSpan.Zero => policy.NegativeTtl,
        int status when StatusRules.IsServerError(status) && policy.ErrorTtl > TimeSpan.Zero => OfFailure(head, receipt, policy),
        int status when (isPublic || StatusRules.IsHeuristicallyCacheable(status))
            && Heuristic(head, receipt, policy.MaxHeuristicTtl) is var guess && guess > TimeSpan.Zero => guess,
        StatusCodes.Status200OK => policy.DefaultTtl,
        _ => TimeSpan.Zero,
    };

    /// <summary>How long a 5xx stands for what the origin would say, where failures are kept at all.</summary>
    public static TimeSpan OfFailure(ResponseHead head, Receipt receipt, FreshnessPolicy policy) =>
        RetryAfter(head, receipt, policy) is var wait && wait > policy.ErrorTtl ? wait : policy.ErrorTtl;

    /// <summary>How long the origin is not to be asked after a 503, as it says and within our limit; zero where it does not say.</summary>
    public static TimeSpan RetryAfter(ResponseHead head, Receipt receipt, FreshnessPolicy policy)
    {
        if (head.StatusCode != StatusCodes.Status503ServiceUnavailable || policy.ErrorTtl == TimeSpan.Zero)
        {
            return TimeSpan.Zero;
        }

        // RFC 9110 10.2.3.
        string text = head[HeaderNames.RetryAfter].ToString();
        TimeSpan wait = DeltaSeconds.TryParse(text, out TimeSpan seconds) ? seconds
            : HttpDate.TryParse(text, receipt.Time, out DateTimeOffset end) ? Positive(end - AgeRules.DateOf(head, receipt))
            : TimeSpan.Zero;
        return wait < policy.MaxRetryAfter ? wait : policy.MaxRetryAfter;
    }

    private static TimeSpan Heuristic(ResponseHead head, Receipt receipt, TimeSpan ceiling)
    {
        if (!HttpDate.TryParse(head[HeaderNames.LastModified].ToString(), receipt.Time, out DateTimeOffset changed))
        {
            return TimeSpan.Zero;
        }

        TimeSpan guess = Positive(AgeRules.DateOf(head, receipt) - changed) / HeuristicDivisor;
        return guess < ceiling ? guess : ceiling;
    }

    private static TimeSpan Positive(TimeSpan value) => value > TimeSpan.Zero ? value : TimeSpan.Zero;
}
