using Microsoft.Extensions.Diagnostics.HealthChecks;

namespace IoUringCache.Transport.Internal.Hosting;

/// <summary>Reports a host that wanted io_uring and serves on Sockets. Any thread; made for each check.</summary>
internal sealed class IoUringTransportHealthCheck(IoUringTransportInfo info) : IHealthCheck
{
    public Task<HealthCheckResult> CheckHealthAsync(HealthCheckContext context, CancellationToken cancellationToken = default)
    {
        TransportState state = info.State;
        Dictionary<string, object> data = new()
        {
            ["backend"] = state.Backend?.ToString() ?? "",
            ["reason"] = state.Reason,
            ["loops"] = state.LoopCount,
            ["ringFeatures"] = state.RingFeatures,
        };
        string description = state.Backend is { } backend ? $"{backend}: {state.Reason}" : state.Reason;
        return Task.FromResult(new HealthCheckResult(
            state.IsFallback ? context.Registration.FailureStatus : HealthStatus.Healthy, description, exception: null, data));
    }
}
