using IoUringCache.Caching.Engine;
using IoUringCache.Caching.Load;
using Microsoft.Extensions.Diagnostics.HealthChecks;

namespace IoUringCache.Caching.Hosting;

/// <summary>Whether the cache can ask its origins, and takes connections. Any thread; one per check.</summary>
internal sealed class CacheHealthCheck(CacheEngine cache) : IHealthCheck
{
    public Task<HealthCheckResult> CheckHealthAsync(HealthCheckContext context, CancellationToken cancellationToken = default)
    {
        string[] ejected = [.. cache.Replicas.Where(static replica => !replica.Circuit.IsClosed).Select(static replica => replica.Url)];
        Dictionary<string, object> data = new() { ["ejected"] = ejected };
        string? fault = cache.FindOriginThatIsGone() is { } gone ? $"No address of the origin {gone} is asked just now."
            : cache.Load.Highest >= LoadStep.NoNewConnections ? "Event loops are so late that connections are refused."
            : null;
        return Task.FromResult(fault is null
            ? HealthCheckResult.Healthy("All origins can be asked.", data)
            : new HealthCheckResult(context.Registration.FailureStatus, fault, exception: null, data));
    }
}
