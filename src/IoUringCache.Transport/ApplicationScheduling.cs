namespace IoUringCache.Transport;

/// <summary>Where a connection's application code (parsing, middleware, handlers) runs when its data has arrived.</summary>
/// <example><code>
/// builder.WebHost.UseIoUring(options => options.ApplicationScheduling = ApplicationScheduling.Inline);
/// </code></example>
public enum ApplicationScheduling
{
    /// <summary>
    /// On the thread pool, one work item per batch of completions. A handler that blocks its thread delays neither other
    /// connections (while the pool has threads) nor bytes that were flushed already. The default.
    /// </summary>
    ThreadPool,

    /// <summary>
    /// On the event loop's own thread: the fastest way, and only for applications whose handlers never block. While a handler runs,
    /// every other connection of that loop waits, and what the handler itself flushed leaves when it returns. A handler that waits
    /// synchronously for something that the same loop must deliver deadlocks. The counterpart of
    /// <c>SocketTransportOptions.UnsafePreferInlineScheduling</c>.
    /// </summary>
    Inline,
}
