namespace IoUringCache.Transport.Internal.Connections;

/// <summary>Requests to a connection from other threads and its own pipe ends.</summary>
[Flags]
internal enum ConnectionRequests
{
    None = 0,
    Start = 1,          // Take a slot and begin to receive.
    Send = 2,
    CompleteOutput = 4, // Close when all is sent: the application has completed its writer.
    ResumeReceive = 8,
    Abort = 16,         // End at once.
}
