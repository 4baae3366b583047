namespace IoUringCache.Transport.Internal.Loops;

/// <summary>The kind of an operation, carried in its user data. 0 is no kind: it would hide a missing name.</summary>
internal enum OperationKind : byte
{
    Wake = 1,     // The read of the loop's own event descriptor.
    Accept,       // Multishot accept of a listening socket.
    Timer,        // The pause after a failed accept.
    Connect,      // The connect of an outgoing connection, before it is a connection.
    Receive,      // The one receive of a connection, into provided buffers or the application's memory, or its poll for a pipe.
    Send,         // The one send in flight of a connection.
    PollWritable, // The poll for a writable socket of a connection, between two pieces of a file.
    Cancel,       // The cancellation of another operation of the same item.
}
