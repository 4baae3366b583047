namespace IoUringCache.Caching.Load;

/// <summary>
/// What a loop sheds, in this order; each step sheds what those before it do. D is <c>Cache:OverloadDelay</c>.
/// <code>
///            D                2 D               4 D                    8 D
///   Normal ----> NoNewFills ----> NoNewWaiters ----> NoNewConnections ----> HalfOfRequests
///
///   up:   for a whole window no way round the loop took less than what stands above the arrow; any number of steps at once
///   down: the shortest one took less than half of that
///   any ---- nobody has asked for half a second ----> Normal
/// </code>
/// </summary>
internal enum LoadStep
{
    /// <summary>Everything is served.</summary>
    Normal,

    /// <summary>Whatever would begin to ask the origin is refused: fills and passes.</summary>
    NoNewFills,

    /// <summary>So are requests that would wait for the headers of a fill.</summary>
    NoNewWaiters,

    /// <summary>
    /// So is the first request of a connection that came after this step was reached; the connection ends with it. At any step, of one whose
    /// bytes had waited for so long when it was accepted.
    /// </summary>
    NoNewConnections,

    /// <summary>So is every other request of any connection, which ends with it, until the way round is short enough.</summary>
    HalfOfRequests,
}
