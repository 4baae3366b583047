namespace IoUringCache.Transport;

/// <summary>
/// Runs work of the application where the transport runs the application code of a connection: on the connection's
/// event loop, or on the thread pool in one batch (<see cref="IoUringTransportOptions.ApplicationScheduling"/>). A
/// feature of <c>HttpContext.Features</c>, also over TLS and HTTP/2, and of <c>ConnectionContext.Features</c>; other
/// transports do not have it.
/// </summary>
/// <example><code>
/// app.MapGet("/announced", async (HttpContext context) =>
/// {
///     TaskCompletionSource made = new();
///     Announcement announcement = new(made);
///     if (context.Features.Get&lt;IConnectionSchedulerFeature>() is { } scheduler)
///     {
///         scheduler.Schedule([announcement]);
///     }
///     else
///     {
///         ThreadPool.UnsafeQueueUserWorkItem(announcement, preferLocal: false);
///     }
///
///     await made.Task;
/// });
/// </code></example>
/// <remarks>
/// All connections of a loop have the same object, which outlives them. An application that notifies many connections
/// of one event groups them by it: one call wakes their loop once, and what they write leaves in the same turn of the
/// loop.
/// </remarks>
public interface IConnectionSchedulerFeature
{
    /// <summary>
    /// Schedules work items; executes none before it returns. Any thread, also while locks are held. An item that
    /// blocks does not delay those behind it, except with <see cref="ApplicationScheduling.Inline"/>.
    /// </summary>
    /// <param name="items">
    /// The items to execute, 0 or more. The span is not kept. An item may be scheduled again as soon as it executes,
    /// and not before. Items whose loop has ended execute on the thread pool.
    /// </param>
    void Schedule(ReadOnlySpan<LoopWorkItem> items);
}
