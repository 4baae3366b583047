using IoUringCache.Caching.Http;
using IoUringCache.Caching.Telemetry;
using Microsoft.AspNetCore.Http.Features;

namespace IoUringCache.Caching.Origins;

/// <summary>
/// An end point of this process as an origin: run once for all who wait, on a context of its own, so that no client's leaving changes anything
/// for the others. What it has failed at is not tried again. Any thread; one per end point.
/// </summary>
/// <param name="endpoint">What the end point does without a cache.</param>
/// <param name="longest">Tells the time after which a response that has not ended is given up.</param>
/// <param name="time">Clock of that, and of <c>Date</c>.</param>
/// <param name="log">Told of its exceptions.</param>
internal sealed class EndpointOrigin(RequestDelegate endpoint, Func<TimeSpan> longest, TimeProvider time, ILogger log) : IOrigin
{
    /// <inheritdoc/>
    public int AddressCount => 0;

    /// <inheritdoc/>
    public long MaxFills => long.MaxValue;

    /// <summary>Runs it for one client alone, on that client's context.</summary>
    public Task RunAloneAsync(HttpContext client) => endpoint(client);

    public async Task<OriginResponse> SendAsync(OriginRequest request, CancellationToken cancellationToken)
    {
        EndpointExchange exchange = new(longest(), time);

        // On a thread of its own: it may block, and what it writes is read here.
        _ = Task.Run(() => RunAsync(exchange, request), CancellationToken.None);
        try
        {
            ResponseHead head = await exchange.Head.WaitAsync(cancellationToken);
            request.Trace?.Answered(head.StatusCode);
            return new EndpointResponse(exchange, head, new(time.GetUtcNow(), TimeSpan.Zero));
        }
        catch (OperationCanceledException) when (cancellationToken.IsCancellationRequested)
        {
            exchange.Leave(isWhole: false);
            throw;
        }
        catch (OriginException)
        {
            exchange.Leave(isWhole: true);
            throw;
        }
    }

    /// <summary>Never faults: what the end point throws is the response's failure.</summary>
    private async Task RunAsync(EndpointExchange exchange, OriginRequest request)
    {
        EndpointCall call = request.Call!;
        FeatureCollection features = call.MakeFeatures(request);
        features.Set<IHttpResponseFeature>(exchange);
        features.Set<IHttpResponseBodyFeature>(exchange);
        features.Set<IHttpRequestLifetimeFeature>(exchange);
        HttpContext context = call.Contexts.Create(features);
        try
        {
            await endpoint(context);
            await exchange.EndAsync();
        }
        catch (Exception failure)
        {
            if (!exchange.RequestAborted.IsCancellationRequested)
            {
                CacheLog.EndpointFailed(log, request.Key, failure);
            }

            exchange.Fail(failure);
        }

        if (await exchange.CloseAsync() is { } fault)
        {
            CacheLog.EndpointFailed(log, request.Key, fault);
        }

        call.Contexts.Dispose(context);
    }
}
