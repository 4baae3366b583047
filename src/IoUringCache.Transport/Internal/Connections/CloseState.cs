namespace IoUringCache.Transport.Internal.Connections;

/// <summary>
/// How far a connection is from its end. Loop thread only.
/// <code>
///            output complete and sent: the peer sees FIN, receiving is cancelled
///   Open ------------------------------------------------------------> Finishing ---+
///     |                                                                             | no operation is
///     | abort, send error, loop stops: cancel everything                            | in the kernel
///     +-------------------------------------------------------------> Resetting ----+-------> Closed
///                                                                      (RST at close, or FIN by FinOnError)
/// </code>
/// </summary>
internal enum CloseState
{
    Open,

    /// <summary>FIN is sent. The descriptor closes when no operation is in the kernel.</summary>
    Finishing,

    /// <summary>Cancelled. The descriptor closes, with a reset or FIN, when no operation is in the kernel.</summary>
    Resetting,

    Closed,
}
