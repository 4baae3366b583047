namespace IoUringCache.Transport.Internal.Loops;

/// <summary>The kind of an operation, carried in its user data. 0 is no kind: it would hide a missing name.</summary>
internal enum OperationKind : byte
{
    /// <summary>The read of the loop's own event descriptor.</summary>
    Wake = 1,

    /// <summary>Multishot accept of a listening socket.</summary>
    Accept,

    /// <summary>The pause after a failed accept.</summary>
    Timer,

    /// <summary>The connect of an outgoing connection, before it is a connection.</summary>
    Connect,

    /// <summary>
    /// The one receive of a connection: into provided buffers, multishot or not, or into memory of the application.
    /// </summary>
    Receive,

    /// <summary>The one send in flight of a connection.</summary>
    Send,

    /// <summary>The poll for a writable socket of a connection, between two pieces of a file.</summary>
    PollWritable,

    /// <summary>The cancellation of another operation of the same item.</summary>
    Cancel,
}
