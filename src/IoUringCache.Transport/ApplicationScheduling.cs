namespace IoUringCache.Transport;

/// <summary>
/// Where a connection's application code (parsing, middleware, handlers) runs when its data has arrived.
/// </summary>
/// <example><code>
/// builder.WebHost.UseIoUring(options => options.ApplicationScheduling = ApplicationScheduling.Inline);
/// </code></example>
public enum ApplicationScheduling
{
    /// <summary>
    /// The default. On the event loop's own thread, until a handler blocks it for more than 2 to 4 ms: a spare thread
    /// then continues the loop for the other connections, and the next sixteen executions of the work item that blocked
    /// run on handler threads.
    /// <para>
    /// A loop has at most 16 threads. The loops of a group share at most 2,048 handler threads for connections that are
    /// known to block and 2,048 for others, started on demand; beyond that, handlers wait for one of these threads, and
    /// get one more for each half second in which none becomes free. None of this uses the thread pool, where Kestrel
    /// starts connections. A blocking system call in a handler may see one more EINTR, which .NET handles and a native
    /// library may not. While a handler's thread cannot be interrupted (the start of a process, a page fault on a slow
    /// disk), operations that this thread submitted complete late. An exception that escapes a continuation ends the
    /// process, as with <see cref="ThreadPool"/>. Needs Linux 6.0, as the others do.
    /// </para>
    /// </summary>
    Adaptive,

    /// <summary>
    /// On the event loop's own thread, for applications whose handlers never block. While a handler runs, the other
    /// connections of that loop wait, and bytes that the handler flushed leave when it returns. A handler that waits
    /// synchronously for something that the same loop must deliver deadlocks. The counterpart of
    /// <c>SocketTransportOptions.UnsafePreferInlineScheduling</c>.
    /// </summary>
    Inline,

    /// <summary>
    /// On the thread pool, one work item per batch of completions. A handler that blocks its thread delays neither
    /// other connections (while the pool has threads) nor bytes that were flushed already.
    /// </summary>
    ThreadPool,
}
