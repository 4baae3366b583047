using Microsoft.AspNetCore.Http.Features;

namespace IoUringCache.Transport;

/// <summary>
/// Runs code of the application's own where the transport runs a connection's: on the connection's event loop, or on the thread pool in
/// one batch (<see cref="IoUringTransportOptions.ApplicationScheduling"/>). Made for an application that has something to tell to many
/// connections at once: those that share a scheduler can be told by one call, which wakes their loop once, and what they write leaves in
/// the same turn of the loop. Any thread; one for each loop, as long as the process needs it.
/// </summary>
/// <example><code>
/// app.MapGet("/announced", async (HttpContext context) =>
/// {
///     TaskCompletionSource made = new();
///     ConnectionScheduler scheduler = ConnectionScheduler.Of(context.Features);
///     scheduler.Schedule([new Announcement(made)]);
///     await made.Task;
/// });
/// </code></example>
public abstract class ConnectionScheduler
{
    /// <summary>For a scheduler of an application's own, in a test for example.</summary>
    protected ConnectionScheduler()
    {
    }

    /// <summary>For all other connections: runs each call as a work item of its own on the thread pool.</summary>
    public static ConnectionScheduler Default { get; } = new PoolScheduler();

    /// <summary>
    /// The scheduler of a connection: of <c>HttpContext.Features</c>, also over TLS and HTTP/2, or of <c>ConnectionContext.Features</c>.
    /// On other transports <see cref="Default"/>.
    /// </summary>
    /// <param name="features">The features of a connection, or of a request on it.</param>
    /// <returns>The same object for all connections of a loop.</returns>
    public static ConnectionScheduler Of(IFeatureCollection features)
    {
        ArgumentNullException.ThrowIfNull(features);
        return features.Get<IFeature>()?.Scheduler ?? Default;
    }

    /// <summary>
    /// Has calls run, each as a call of its own: one that blocks does not keep those behind it, except with
    /// <see cref="ApplicationScheduling.Inline"/>. Runs none before it returns. Any thread, also while locks are held.
    /// </summary>
    /// <param name="dispatches">
    /// What to run; not kept, so the memory can be used again at once. A call that has been scheduled may be scheduled again when it runs,
    /// and not before. Calls whose loop has ended run on the thread pool.
    /// </param>
    public abstract void Schedule(ReadOnlySpan<Dispatch> dispatches);

    /// <summary>A connection of this transport, for whoever has code to run where its code runs. Seen through TLS and HTTP/2.</summary>
    internal interface IFeature
    {
        /// <summary>The same for all connections of one loop.</summary>
        ConnectionScheduler Scheduler { get; }
    }

    /// <summary>Runs application code on the thread pool, as the transports of others do. Any thread; one for the process.</summary>
    private sealed class PoolScheduler : ConnectionScheduler
    {
        public override void Schedule(ReadOnlySpan<Dispatch> dispatches)
        {
            foreach (Dispatch dispatch in dispatches)
            {
                ThreadPool.UnsafeQueueUserWorkItem(dispatch, preferLocal: false);
            }
        }
    }
}
