using IoUringCache.Caching.Engine;
using Microsoft.Extensions.Options;

namespace IoUringCache.Caching.Hosting;

/// <summary>Has the cache there, with all that may be wrong with its options, before the application takes requests. One per application.</summary>
internal sealed class CacheStart(IServiceProvider services, IHostApplicationLifetime lifetime, IOptions<HostOptions> options) : IHostedService
{
    public const string NoCache = "There is no cache: call builder.Services.AddStreamingCache() first.";

    /// <summary>The cache of a request's application.</summary>
    /// <exception cref="InvalidOperationException">It has none.</exception>
    public static CacheEngine CacheOf(HttpContext context) =>
        context.RequestServices.GetService<CacheEngine>() ?? throw new InvalidOperationException(NoCache);

    public Task StartAsync(CancellationToken cancellationToken)
    {
        CacheEngine cache = services.GetRequiredService<CacheEngine>();

        // Not as this service stops: the server has then waited for them in vain.
        lifetime.ApplicationStopping.Register(() => cache.EndUpgrades(options.Value.ShutdownTimeout / 2));
        return Task.CompletedTask;
    }

    public Task StopAsync(CancellationToken cancellationToken) => Task.CompletedTask;
}
