namespace IoUringCache.Transport.Internal.Connections;

/// <summary>What other threads, and a connection's own pipe, ask of the connection on its loop.</summary>
[Flags]
internal enum ConnectionRequests
{
    None = 0,

    /// <summary>Take a slot and begin to receive.</summary>
    Start = 1,

    /// <summary>Bytes were flushed.</summary>
    Send = 2,

    /// <summary>The application has written all it will: close when it is sent.</summary>
    CompleteOutput = 4,

    /// <summary>The reader has room again.</summary>
    ResumeReceive = 8,

    /// <summary>End at once, with a reset.</summary>
    Abort = 16,
}
