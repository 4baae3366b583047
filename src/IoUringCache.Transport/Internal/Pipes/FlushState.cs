namespace IoUringCache.Transport.Internal.Pipes;

/// <summary>
/// Where the application's flushing stands.
/// <code>
///            FlushAsync, too much unsent            sent below half, dead, cancelled
///    Idle -------------------------------> Waiting --------------------------------> Scheduled
///     ^                                                                                  |
///     +------------------------- the continuation gets its result -----------------------+
/// </code>
/// </summary>
internal enum FlushState
{
    /// <summary>No flush is pending.</summary>
    Idle,

    /// <summary>A flush waits for bytes to be sent.</summary>
    Waiting,

    /// <summary>The flush's continuation is queued where application code runs.</summary>
    Scheduled,
}
