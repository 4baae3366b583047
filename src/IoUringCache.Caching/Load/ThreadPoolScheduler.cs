using IoUringCache.Caching.Http;
using IoUringCache.Transport;
using Microsoft.AspNetCore.Http.Features;

namespace IoUringCache.Caching.Load;

/// <summary>
/// Executes each work item on the thread pool: for connections of other transports, and for code that serves no connection. Any thread; one
/// per process.
/// </summary>
internal sealed class ThreadPoolScheduler : IConnectionSchedulerFeature
{
    private ThreadPoolScheduler()
    {
    }

    public static ThreadPoolScheduler Instance { get; } = new();

    public void Schedule(ReadOnlySpan<LoopWorkItem> items)
    {
        foreach (LoopWorkItem item in items)
        {
            ThreadPool.UnsafeQueueUserWorkItem(item, preferLocal: false);
        }
    }
}

/// <summary>Where the code of a connection runs. Any thread.</summary>
internal static class SchedulerFeatureExtensions
{
    /// <summary>The scheduler of a connection, or of a request on it; the thread pool's where the transport has none.</summary>
    public static IConnectionSchedulerFeature GetScheduler(this IFeatureCollection features) =>
        features.Find<IConnectionSchedulerFeature>() ?? ThreadPoolScheduler.Instance;
}
