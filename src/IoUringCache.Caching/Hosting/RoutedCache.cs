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
        switch (plan.Keys.Read(context, binding.Route, out ObjectAddress address))
        {
            case TargetVerdict.TooLong:
                binding.Answers.Send(context, StatusCodes.Status414UriTooLong, "target-too-long");
                return Task.CompletedTask;
            case TargetVerdict.Malformed:
                binding.Answers.Send(context, StatusCodes.Status400BadRequest, "malformed-target");
                return Task.CompletedTask;
            default:
                return binding.Handler(context, address);
        }
    }

    private Binding Bind(HttpContext context)
    {
        lock (_lock)
        {
            if (_binding is null)
            {
                CacheEngine cache = CacheStart.CacheOf(context);
                _binding = directory is null
                    ? new(plan.MakeRoute(cache, cache.OriginAt(urls), urls), cache.Objects, cache.Answers)
                    : new(plan.MakeRoute(cache, origin: null, urls), cache.FilesOf(cache.OpenDirectory(directory)), cache.Answers);
            }

            return _binding;
        }
    }

    private sealed record Binding(CacheRoute Route, ObjectHandler Handler, OwnAnswer Answers);
}
