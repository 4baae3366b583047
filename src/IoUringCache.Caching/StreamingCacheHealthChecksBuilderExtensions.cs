using IoUringCache.Caching.Hosting;
using Microsoft.Extensions.Diagnostics.HealthChecks;

namespace Microsoft.Extensions.DependencyInjection;

/// <summary>Adds a health check of the streaming cache.</summary>
public static class StreamingCacheHealthChecksBuilderExtensions
{
    /// <summary>
    /// Adds a check that reports an origin of which no address may be asked just now, and event loops that are so late that connections are
    /// refused. Healthy otherwise, also where no origin is mapped. Its data name the addresses that are not asked (<c>ejected</c>).
    /// </summary>
    /// <param name="builder">The application's health checks. Its services have <c>AddStreamingCache</c>.</param>
    /// <param name="name">The name of the check. Not null.</param>
    /// <param name="failureStatus">
    /// What the check reports then. Defaults to <see langword="null"/>: <see cref="HealthStatus.Degraded"/>, since hits go on.
    /// </param>
    /// <param name="tags">Tags to select checks by. Defaults to <see langword="null"/>: none.</param>
    /// <returns>The same builder.</returns>
    /// <example><code>
    /// builder.Services.AddHealthChecks().AddStreamingCache();
    /// </code></example>
    public static IHealthChecksBuilder AddStreamingCache(
        this IHealthChecksBuilder builder, string name = "streaming_cache", HealthStatus? failureStatus = null, IEnumerable<string>? tags = null)
    {
        ArgumentNullException.ThrowIfNull(builder);
        return builder.AddCheck<CacheHealthCheck>(name, failureStatus ?? HealthStatus.Degraded, tags ?? []);
    }
}
