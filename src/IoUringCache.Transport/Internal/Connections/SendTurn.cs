namespace IoUringCache.Transport.Internal.Connections;

/// <summary>
/// Who sends what a connection's application has flushed: one at a time, so that no byte overtakes another. Guarded by the writer's lock;
/// whoever has the turn sends without holding it, and is the only one to touch what it took from the queue.
/// <code>
///            takes what is queued                       has something, a FIN or a close for behind it
///   Free ---------------------------> Direct ----------------------------------------------------------> Awaited
///    | ^                                | some is left, or nothing                                           |
///    | +--------------------------------+--------------------------------------------------------------------+
///    | |                                                      done; the loop is asked if it waits or some is left
///    | |   the loop takes what is queued
///    +-+-------------------------------> Loop ----- all that it took has left ----> Free
/// </code>
/// </summary>
internal enum SendTurn
{
    /// <summary>Nobody sends.</summary>
    Free,

    /// <summary>The loop has taken something from the queue that has not left as a whole.</summary>
    Loop,

    /// <summary>Another thread is in a send that does not wait.</summary>
    Direct,

    /// <summary>As <see cref="Direct"/>, and the loop is to be asked again when that is over.</summary>
    Awaited,
}
