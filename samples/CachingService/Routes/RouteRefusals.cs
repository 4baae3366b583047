using System.Globalization;
using IoUringCache.Caching.Origins;
using IoUringCache.Caching.Serving;
using IoUringCache.Caching.Telemetry;

namespace CachingService.Routes;

/// <summary>Answers requests that a rule of their route refuses, and counts them by reason, which is the detail of the answer. Any thread; one per service.</summary>
internal sealed class RouteRefusals
{
    public const string ClientNetwork = "client-network";
    public const string RateLimit = "rate-limit";
    public const string SignatureMissing = "signature-missing";
    public const string SignatureMalformed = "signature-malformed";
    public const string SignatureKeyUnknown = "signature-key-unknown";
    public const string SignatureWrong = "signature-wrong";
    public const string SignatureExpired = "signature-expired";

    private readonly ReasonCounts _counts =
        new(ClientNetwork, RateLimit, SignatureMissing, SignatureMalformed, SignatureKeyUnknown, SignatureWrong, SignatureExpired);

    private readonly OwnAnswer _answers;
    private readonly CacheMetrics _metrics;

    public RouteRefusals(OwnAnswer answers, CacheMetrics metrics)
    {
        (_answers, _metrics) = (answers, metrics);
        metrics.Count("cache.route.refusals", "{request}", "Refused by a rule of their route, with 403 or 429; reason is the detail of Cache-Status.", _counts.Measure);
    }

    /// <summary>403, for one of the reasons.</summary>
    public Task SendForbidden(HttpContext context, ObjectAddress address, string reason) => Send(context, address, StatusCodes.Status403Forbidden, reason);

    /// <summary>429.</summary>
    /// <param name="retryAfter">When the next may come; rounded up to a second.</param>
    public Task SendTooMany(HttpContext context, ObjectAddress address, TimeSpan retryAfter)
    {
        Task sent = Send(context, address, StatusCodes.Status429TooManyRequests, RateLimit);
        context.Response.Headers.RetryAfter = Math.Max(1, Math.Ceiling(retryAfter.TotalSeconds)).ToString(CultureInfo.InvariantCulture);
        return sent;
    }

    private Task Send(HttpContext context, ObjectAddress address, int statusCode, string reason)
    {
        _counts.Add(reason);
        _metrics.Answered(context, RequestOutcome.Own, TimeSpan.Zero, address.Policy.Prefix);
        _answers.Send(context, statusCode, reason);
        return Task.CompletedTask;
    }
}
