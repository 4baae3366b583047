using CachingService.Origins;

namespace CachingService.Filling;

/// <summary>
/// Asks the origin until there are response headers. Only a failure before them can be tried again, because nobody has seen a byte. Any
/// thread.
/// </summary>
internal static class OriginAttempts
{
    /// <param name="request">What to ask.</param>
    /// <param name="services">Origin, options, counters and log.</param>
    /// <param name="isWanted">Whether anybody waits; without, there is no second attempt.</param>
    /// <param name="cancellationToken">The fill's own.</param>
    /// <exception cref="OriginException">The last attempt's failure.</exception>
    public static async Task<OriginResponse> SendAsync(
        OriginRequest request, FillServices services, Func<bool> isWanted, CancellationToken cancellationToken)
    {
        OriginException? earlier = null;
        for (int attempt = 1; ; attempt++)
        {
            try
            {
                services.Metrics.FillStarted();
                OriginResponse response = await services.Origin.SendAsync(request, cancellationToken);
                if (!IsAnswerToFill(response.Head.StatusCode))
                {
                    throw Unasked(response);
                }

                if (earlier is not null)
                {
                    FillLog.Recovered(services.Log, request.Key, earlier.Detail, earlier.Message, attempt);
                }

                return response;
            }
            catch (OriginException failure) when (attempt < services.Options.FillAttempts && isWanted())
            {
                services.Metrics.FillFailed();
                request = request with { FailedAt = failure.Replica };
                earlier = failure;
            }
        }
    }

    /// <summary>A fill asks for the whole object without conditions, so these answer another question.</summary>
    private static bool IsAnswerToFill(int status) =>
        status is not (StatusCodes.Status206PartialContent or StatusCodes.Status304NotModified or StatusCodes.Status416RangeNotSatisfiable);

    private static OriginException Unasked(OriginResponse response)
    {
        int status = response.Head.StatusCode;
        response.Dispose();
        OriginException unasked = OriginException.BadGateway(
            "origin-unexpected-status", $"status {status} to a request without range and condition");
        unasked.Replica = response.Replica;
        return unasked;
    }
}
