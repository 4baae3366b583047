using IoUringCache.Transport;
using Microsoft.AspNetCore.Http.Features;

namespace IoUringCache.Caching.Load;

/// <summary>Where the code of a connection runs. Any thread.</summary>
internal static class SchedulerFeatureExtensions
{
    /// <summary>The scheduler of a connection, or of a request on it; the thread pool's where the transport has none.</summary>
    public static IConnectionSchedulerFeature GetScheduler(this IFeatureCollection features) =>
        features.Get<IConnectionSchedulerFeature>() ?? ThreadPoolScheduler.Instance;
}
