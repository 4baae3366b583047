namespace IoUringCache.Transport.Internal.Connections;

/// <summary>What other threads, and the connection's own pipe ends, request of a connection.</summary>
[Flags]
internal enum ConnectionRequests
{
    None = 0,

    /// <summary>Takes a slot and begins to receive.</summary>
    Start = 1,

    /// <summary>Sends what was flushed.</summary>
    Send = 2,

    /// <summary>Closes when all is sent: the application has completed its writer.</summary>
    CompleteOutput = 4,

    /// <summary>Receives again: the reader is ready for more.</summary>
    ResumeReceive = 8,

    /// <summary>Ends at once, with a reset.</summary>
    Abort = 16,
}
