namespace IoUringCache.Transport.Internal.Pipes;

/// <summary>
/// Where the application's reading stands.
/// <code><![CDATA[
///             ReadAsync or TryRead finds something
///      +----------------------------------------------+
///      |                                              v
///    Idle <---------------- AdvanceTo ------------- Reading
///      |                                              ^
///      | ReadAsync finds nothing                      | the continuation gets its result
///      v          data, end, error, cancellation      |
///   Waiting -------------------------------------> Scheduled
/// ]]></code>
/// From Scheduled it goes to Idle instead where the continuation gets an exception.
/// </summary>
internal enum ReadState
{
    /// <summary>No read is going on.</summary>
    Idle,

    /// <summary>A read waits for something to happen.</summary>
    Waiting,

    /// <summary>Something happened; the read's continuation is queued where application code runs.</summary>
    Scheduled,

    /// <summary>The application holds a result and has not advanced yet.</summary>
    Reading,
}
