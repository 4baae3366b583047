using IoUringCache.Caching.Engine;

namespace IoUringCache.Caching.Hosting;

/// <summary>Has the cache there, with all that may be wrong with its options, before the application takes requests. One per application.</summary>
internal sealed class CacheStart(IServiceProvider services) : IHostedService
{
    public Task StartAsync(CancellationToken cancellationToken)
    {
        _ = services.GetRequiredService<CacheEngine>();
        return Task.CompletedTask;
    }

    public Task StopAsync(CancellationToken cancellationToken) => Task.CompletedTask;
}
