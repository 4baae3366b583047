namespace IoUringCache.Caching.Http;

/// <summary>
/// How long a response is kept and may be used after it has become stale (RFC 9111 4.2.4, RFC 5861). What the origin says goes before
/// the options, and neither counts where it insists on being asked. Any thread.
/// </summary>
internal static class StaleRules
{
    /// <summary>Adds the times to a verdict. A failure of the origin is of no use once it is stale.</summary>
    public static SharingVerdict Extend(SharingVerdict verdict, ResponseHead head, CacheControl control, FreshnessPolicy policy)
    {
        if (StatusRules.IsServerError(head.StatusCode))
        {
            return verdict;
        }

        TimeSpan whileRevalidating = Allowed(control, control.StaleWhileRevalidate ?? policy.StaleWhileRevalidate);
        TimeSpan ifError = Allowed(control, control.StaleIfError ?? policy.StaleIfError);
        TimeSpan toValidate = new Validators(head.Without(verdict.WithheldFields)).CanBeValidated ? policy.KeepStale : TimeSpan.Zero;
        return verdict with
        {
            MayBeStale = !control.ForbidsStale,
            StaleWhileRevalidate = whileRevalidating,
            StaleIfError = ifError,
            KeptFor = Longest(toValidate, whileRevalidating, ifError),
        };
    }

    /// <summary>Statuses and no others are taken for a failure that a stale response may stand in for (RFC 5861 4).</summary>
    public static bool IsError(int status) => status is StatusCodes.Status500InternalServerError or StatusCodes.Status502BadGateway
        or StatusCodes.Status503ServiceUnavailable or StatusCodes.Status504GatewayTimeout;

    private static TimeSpan Allowed(CacheControl control, TimeSpan span) => control.ForbidsStale ? TimeSpan.Zero : span;

    private static TimeSpan Longest(params ReadOnlySpan<TimeSpan> spans)
    {
        TimeSpan longest = TimeSpan.Zero;
        foreach (TimeSpan span in spans)
        {
            longest = span > longest ? span : longest;
        }

        return longest;
    }
}
