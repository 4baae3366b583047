using IoUringCache.Caching.Http;
using IoUringCache.Caching.Options;
using IoUringCache.Caching.Origins;
using IoUringCache.Caching.Telemetry;
using Polly;
using Polly.Retry;

namespace IoUringCache.Caching.Filling;

/// <summary>
/// Asks the origin until there are response headers. Only a failure before them is tried again here, because no client has seen a byte: at
/// the next address at once, and where all have failed after a pause that grows, with jitter, so that not all fills come back together.
/// Any thread; one per service.
/// </summary>
internal sealed class OriginAttempts
{
    /// <summary>However many attempts, a pause is no longer.</summary>
    private static readonly TimeSpan s_longestPause = TimeSpan.FromSeconds(10);

    private static readonly ResiliencePropertyKey<Attempt> s_attempt = new("attempt");

    private readonly CacheMetrics _metrics;
    private readonly TimeProvider _time;
    private readonly ILogger<OriginAttempts> _log;
    private readonly MadeOfOptions<ResiliencePipeline<OriginResponse>> _pipeline;

    public OriginAttempts(CacheMetrics metrics, LiveOptions options, TimeProvider time, ILogger<OriginAttempts> log) =>
        (_metrics, _time, _log, _pipeline) = (metrics, time, log, new(options, Build));

    /// <param name="isWanted">Whether anybody waits; without, there is no further attempt.</param>
    /// <exception cref="OriginException">The last attempt's failure.</exception>
    public async Task<OriginResponse> SendAsync(OriginRequest request, Func<bool> isWanted, CancellationToken cancellationToken)
    {
        Attempt attempt = new(request, isWanted);
        ResilienceContext context = ResilienceContextPool.Shared.Get(cancellationToken);
        try
        {
            context.Properties.Set(s_attempt, attempt);
            OriginResponse response = await _pipeline.Now.ExecuteAsync(AskAsync, context, attempt);
            if (attempt.Failure is { } earlier)
            {
                CacheLog.FillRecovered(_log, request.Key, earlier.Detail, earlier.Message, attempt.Number);
            }

            return response;
        }
        finally
        {
            ResilienceContextPool.Shared.Return(context);
        }
    }

    private ResiliencePipeline<OriginResponse> Build(CacheOptions now)
    {
        ResiliencePipelineBuilder<OriginResponse> builder = new() { TimeProvider = _time };
        if (now.FillAttempts > 1)
        {
            builder.AddRetry(new RetryStrategyOptions<OriginResponse>
            {
                MaxRetryAttempts = now.FillAttempts - 1,
                Delay = now.FillRetryDelay,
                MaxDelay = s_longestPause,
                BackoffType = DelayBackoffType.Exponential,
                UseJitter = true,
                ShouldHandle = static arguments => ValueTask.FromResult(IsWorthAnother(arguments.Outcome.Exception, arguments.Context)),
                DelayGenerator = static arguments => ValueTask.FromResult<TimeSpan?>(
                    arguments.AttemptNumber + 1 < AttemptOf(arguments.Context).Origin.AddressCount ? TimeSpan.Zero : null),
                OnRetry = OnRetry,
            });
        }

        return builder.Build();
    }

    private async ValueTask<OriginResponse> AskAsync(ResilienceContext context, Attempt attempt)
    {
        if (attempt.Failure is { } failure)
        {
            if (!attempt.IsWanted())
            {
                // Who waited has gone during the pause.
                throw failure;
            }

            _metrics.FillFailed();
        }

        attempt.Number++;
        _metrics.FillStarted();
        OriginResponse response = await attempt.Origin.SendAsync(attempt.Request, context.CancellationToken);
        if (attempt.Request.Slice is { IsFirst: true } && !StatusRules.IsWholeAnswer(response.Head.StatusCode) && !IsAnswer(attempt.Request, response.Head))
        {
            // There is no byte, or no way to know that other slices are of the same version.
            response.Refuse();
            attempt.Request = attempt.Request with { Slice = null };
            _metrics.FillStarted();
            response = await attempt.Origin.SendAsync(attempt.Request, context.CancellationToken);
        }

        return IsAnswer(attempt.Request, response.Head) ? response : throw Unasked(attempt.Request, response);
    }

    private ValueTask OnRetry(OnRetryArguments<OriginResponse> arguments)
    {
        Attempt attempt = AttemptOf(arguments.Context);
        attempt.Failure = (OriginException)arguments.Outcome.Exception!;
        attempt.Request = attempt.Request with { FailedAt = attempt.Failure.Replica };
        return ValueTask.CompletedTask;
    }

    /// <summary>What we refuse ourselves is not asked again: that would defeat the limit.</summary>
    private static bool IsWorthAnother(Exception? failure, ResilienceContext context) =>
        failure is OriginException { RetryAfter: null } && AttemptOf(context) is { Origin.AddressCount: > 0 } attempt && attempt.IsWanted();

    private static Attempt AttemptOf(ResilienceContext context) => context.Properties.GetValue(s_attempt, null!);

    /// <summary>A fill asks for all of an object, or for a further slice of it, unless it has the start already.</summary>
    private static bool IsAnswer(OriginRequest request, ResponseHead head) => request.Slice is { IsFirst: false } slice
        ? slice.Holds(head)
        : request.IsForRest || StatusRules.IsWholeAnswer(head.StatusCode) || (request.Stored is not null && head.StatusCode == StatusCodes.Status304NotModified);

    private static OriginException Unasked(OriginRequest request, OriginResponse response)
    {
        int status = response.Head.StatusCode;
        response.Refuse();
        OriginException unasked = request.Slice is not { IsFirst: false }
            ? OriginException.BadGateway("origin-unexpected-status", $"status {status} to a request without range and condition")
            : SaysNothingOfVersion(request, status) ? OriginException.BadGateway($"origin-{status}", $"status {status}")
            : OriginException.BadGateway(SliceRequest.Changed, $"status {status} to a request for a slice of what was there");
        unasked.Replica = response.Replica;
        return unasked;
    }

    /// <summary>
    /// Whether the origin has failed, or has something against the request for a slice: the slices that are stored are then as good as before.
    /// </summary>
    private static bool SaysNothingOfVersion(OriginRequest request, int status) => StatusRules.IsServerError(status)
        || (status != StatusCodes.Status416RangeNotSatisfiable && SharingRules.IsAboutRequest(status, request.Address.Policy.Freshness));

    /// <summary>Where the attempts of one request stand. Used by one attempt at a time.</summary>
    private sealed class Attempt(OriginRequest request, Func<bool> isWanted)
    {
        public OriginRequest Request { get; set; } = request;

        public IOrigin Origin => Request.Address.Route.Origin;

        public Func<bool> IsWanted => isWanted;

        /// <summary>From 1.</summary>
        public int Number { get; set; }

        /// <summary>Of the attempt before.</summary>
        public OriginException? Failure { get; set; }
    }
}
