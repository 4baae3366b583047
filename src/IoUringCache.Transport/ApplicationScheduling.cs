namespace IoUringCache.Transport;

/// <summary>Where a connection's application code (parsing, middleware, handlers) runs when its data has arrived.</summary>
/// <example><code>
/// builder.WebHost.UseIoUring(options => options.ApplicationScheduling = ApplicationScheduling.Inline);
/// </code></example>
public enum ApplicationScheduling
{
    /// <summary>
    /// The default. On the event loop's own thread, as <see cref="Inline"/>, but a handler that keeps the thread for more than 2 to 4 ms keeps it for
    /// itself: a spare thread takes the loop over and goes on with everybody else, also while the thread pool has no thread to give. A
    /// connection whose handlers did that is served by threads for that purpose until they have behaved for a while.
    /// <para>
    /// A loop has at most 16 threads, and the loops of a group together at most 2,048 for connections that are known to block and 2,048 for
    /// others, made when needed. Beyond that handlers wait for one of these, and get one more each half a second in which none comes free. None goes
    /// to the thread pool, where Kestrel starts connections. A blocking system call in such a handler may be interrupted once more than usual (EINTR), which the
    /// runtime handles and a native library may not. While a handler waits uninterruptibly (starting a process, a page fault on a slow
    /// disk), what its thread had submitted completes late. An exception that escapes a continuation ends the process, as with
    /// <see cref="ThreadPool"/>. Needs Linux 6.0 like the others, and does without the flags that bind a ring to its thread.
    /// </para>
    /// </summary>
    Adaptive,

    /// <summary>
    /// On the event loop's own thread: the fastest way, and only for applications whose handlers never block. While a handler runs,
    /// every other connection of that loop waits, and what the handler itself flushed leaves when it returns. A handler that waits
    /// synchronously for something that the same loop must deliver deadlocks. The counterpart of
    /// <c>SocketTransportOptions.UnsafePreferInlineScheduling</c>.
    /// </summary>
    Inline,

    /// <summary>
    /// On the thread pool, one work item per batch of completions. A handler that blocks its thread delays neither other
    /// connections (while the pool has threads) nor bytes that were flushed already.
    /// </summary>
    ThreadPool,
}
