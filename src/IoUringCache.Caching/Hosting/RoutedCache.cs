using IoUringCache.Caching.Engine;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Origins;
using IoUringCache.Caching.Serving;

namespace IoUringCache.Caching.Hosting;

/// <summary>
/// Answers the requests that routing brings to a mapped pattern, from an HTTP origin or a directory. Made when the route is mapped, and joined to
/// the application's cache with the first request. Any thread; one per pattern.
/// </summary>
/// <param name="urls">Addresses of the HTTP origin; empty for a directory.</param>
/// <param name="directory">Path of the directory, or <see langword="null"/>.</param>
internal sealed class RoutedCache(RoutePlan plan, IReadOnlyList<string> urls, string? directory)
{
    private readonly Lock _lock = new();
    private volatile Binding? _binding;

    public Task HandleAsync(HttpContext context)
    {
        Binding binding = _binding ?? Bind(context);
        TargetVerdict verdict = plan.Keys.Read(context, binding.Route, out ObjectAddress address);
        return verdict == TargetVerdict.Valid ? binding.Handler(context, address) : binding.Answers.BadTarget(context, verdict);
    }

    private Binding Bind(HttpContext context)
    {
        CacheEngine cache = CacheStart.CacheOf(context);
        lock (_lock)
        {
            return _binding ??= directory is null
                ? new(plan.MakeRoute(cache, cache.OriginAt(urls), urls), cache.Objects, cache.Answers)
                : new(plan.MakeRoute(cache, origin: null, urls), cache.FilesOf(cache.OpenDirectory(directory)), cache.Answers);
        }
    }

    private sealed record Binding(CacheRoute Route, ObjectHandler Handler, OwnAnswer Answers);
}
