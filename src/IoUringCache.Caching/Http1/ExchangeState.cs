namespace IoUringCache.Caching.Http1;

/// <summary>
/// What happens on a connection of a client. Changed by whoever uses the connection, one at a time.
/// <code>
///            head sent              final head came            body read, all sent, nothing doubtful
///   Idle --------------> Asked --------------------> Reading -----------------------------------------> Idle
///     |                    |                            |
///     | the peer has       | no sound answer in time    | given up, broken, doubtful, HTTP/1.0, 101,
///     v ended it           v                            v "Connection: close"
///   Closed               Closed                       Closed
/// </code>
/// </summary>
internal enum ExchangeState
{
    /// <summary>The pool's, or of somebody who is about to send.</summary>
    Idle,

    /// <summary>The answer is waited for; the body of the request may still be on its way, now and later.</summary>
    Asked,

    /// <summary>The answer's body is read; after a 101 the connection is read and written until it ends.</summary>
    Reading,

    /// <summary>For good.</summary>
    Closed,
}
