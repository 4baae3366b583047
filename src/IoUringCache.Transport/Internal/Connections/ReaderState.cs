namespace IoUringCache.Transport.Internal.Connections;

/// <summary>
/// What the application may call next on a reader; the same as on a <see cref="System.IO.Pipelines.Pipe"/>. Guarded by
/// the reader's lock.
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
    Free,      // A read.
    Tentative, // A read, or AdvanceTo.
    Reading,   // AdvanceTo. A read throws.
}
