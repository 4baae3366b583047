using Microsoft.Win32.SafeHandles;

namespace IoUringCache.Caching.Disk;

/// <summary>Reads and writes files at places of their own, without a thread that waits. Any thread. A seam for tests: a disk that fails.</summary>
internal interface IFileQueue
{
    /// <summary>Reads once.</summary>
    /// <param name="file">Kept open by the caller.</param>
    /// <param name="pinned">Pinned memory, not touched by anybody until the task has ended. It has no cancellation for that reason.</param>
    /// <param name="offset">In bytes from the start of the file.</param>
    /// <returns>Bytes read, 0 at the end of the file, or -errno.</returns>
    Task<int> ReadAsync(SafeFileHandle file, Memory<byte> pinned, long offset);

    /// <summary>Writes once; the rest is as for a read.</summary>
    /// <param name="file">Kept open by the caller.</param>
    /// <param name="pinned">Pinned memory, not changed until the task has ended.</param>
    /// <param name="offset">In bytes from the start of the file.</param>
    /// <returns>Bytes written, or -errno.</returns>
    Task<int> WriteAsync(SafeFileHandle file, ReadOnlyMemory<byte> pinned, long offset);
}
