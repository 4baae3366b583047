namespace IoUringCache.Transport.Internal.Connections;

/// <summary>Requests to a connection from other threads and its own pipe ends.</summary>
[Flags]
internal enum ConnectionRequests
{
    None = 0,

    /// <summary>Take a slot and begin to receive.</summary>
    Start = 1,

    Send = 2,

    /// <summary>Close when all is sent: the application has completed its writer.</summary>
    CompleteOutput = 4,

    ResumeReceive = 8,

    /// <summary>End at once.</summary>
    Abort = 16,
}
