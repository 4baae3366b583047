namespace IoUringCache.Transport.Internal.Connections;

/// <summary>
/// How far a connection is from its end. Loop thread only.
/// <code>
///            output complete and sent: the peer sees FIN, receiving is cancelled
///   Open ------------------------------------------------------------> Finishing ---+
///     |                                                                             | no operation is in the
///     | abort, send error, loop stops: cancel everything                            | kernel, no direct send
///     +-------------------------------------------------------------> Resetting ----+-------> Closed
///                                              (RST at close; FIN with FinOnError or without a reason)
/// </code>
/// </summary>
internal enum CloseState
{
    Open,

    /// <summary>FIN is sent. The descriptor closes when the kernel and other threads have let go of it.</summary>
    Finishing,

    /// <summary>Cancelled. The descriptor closes likewise, with a reset or FIN.</summary>
    Resetting,

    Closed,
}
