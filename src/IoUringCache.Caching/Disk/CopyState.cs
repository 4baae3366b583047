namespace IoUringCache.Caching.Disk;

/// <summary>
/// Where the copy of an object on the disk stands.
/// <code>
///             body is written            header is written
///   Queued -------------------> Sealing -------------------> Stored
///     |                            |                            |
///     |      removed, replaced, damaged, or its segment is used again
///     +----------------------------+----------------------------+--------> Gone
/// </code>
/// What goes while it is queued leaves nothing to be found. What goes while it is sealed or stored has its header overwritten: by the writer
/// as soon as the seal is written, or at once.
/// </summary>
internal enum CopyState
{
    Queued,
    Sealing,
    Stored,
    Gone,
}
