using IoUringCache.Caching.Engine;

namespace IoUringCache.Caching.Hosting;

/// <summary>Has the cache there, with all that may be wrong with its options, before the application takes requests. One per application.</summary>
internal sealed class CacheStart(IServiceProvider services) : IHostedService
{
    public const string NoCache = "There is no cache: call builder.Services.AddStreamingCache() first.";

    /// <summary>The cache of a request's application.</summary>
    /// <exception cref="InvalidOperationException">It has none.</exception>
    public static CacheEngine CacheOf(HttpContext context) =>
        context.RequestServices.GetService<CacheEngine>() ?? throw new InvalidOperationException(NoCache);

    public Task StartAsync(CancellationToken cancellationToken)
    {
        _ = services.GetRequiredService<CacheEngine>();
        return Task.CompletedTask;
    }

    public Task StopAsync(CancellationToken cancellationToken) => Task.CompletedTask;
}
