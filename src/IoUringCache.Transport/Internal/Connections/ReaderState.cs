namespace IoUringCache.Transport.Internal.Connections;

/// <summary>
/// What the application may call next on a reader, as <see cref="System.IO.Pipelines.Pipe"/> has it. Guarded by the reader's lock.
/// <code>
///                              a read gives a result
///   Free ---------------------------------------------------------------> Reading
///    | ^                                                                   |  ^
///    | |        a read is cancelled, or a try finds nothing                |  |
///    | |     +------------------------------------------------+            |  |
///    +-|-----+                                                v            |  |
///      |                                                  Tentative -------|--+  a read gives a result
///      |                          AdvanceTo                   |            |
///      +------------------------------------------------------+------------+
/// </code>
/// </summary>
internal enum ReaderState
{
    /// <summary>A read; there is nothing to advance.</summary>
    Free,

    /// <summary>A read, or <c>AdvanceTo</c>.</summary>
    Tentative,

    /// <summary><c>AdvanceTo</c>; a read is refused.</summary>
    Reading,
}
