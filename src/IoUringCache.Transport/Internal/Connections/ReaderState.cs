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
    /// <summary>A read.</summary>
    Free,

    /// <summary>A read, or <c>AdvanceTo</c>.</summary>
    Tentative,

    /// <summary><c>AdvanceTo</c>. A read throws.</summary>
    Reading,
}
