using IoUringCache.Ring.Native;
using Microsoft.Win32.SafeHandles;

namespace IoUringCache.Ring.Files;

/// <summary>The part of a file that is in the page cache. Any thread.</summary>
/// <example><code>
/// if (!PageCache.Contains(file, offset, length))
/// {
///     await RandomAccess.ReadAsync(file, buffer, offset, cancellationToken);
/// }
/// </code></example>
public static unsafe class PageCache
{
    private const int StatisticsNumber = 451; // The same on every architecture that .NET runs on.

    /// <summary>Whether the page cache has a whole range, so that reading it does not wait for a disk.</summary>
    /// <remarks>Source: cachestat(2), Linux 6.5.</remarks>
    /// <param name="file">A regular file.</param>
    /// <param name="offset">Start of the range in bytes, 0 or more.</param>
    /// <param name="length">Bytes, 1 or more; the range lies inside of the file.</param>
    /// <returns>
    /// True if every page is in the cache now. False also if the system does not say: not on Linux, before Linux 6.5,
    /// and on newer kernels for a file that the process neither owns nor may write to.
    /// </returns>
    /// <exception cref="ObjectDisposedException">The file is closed.</exception>
    public static bool Contains(SafeFileHandle file, long offset, long length)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(offset);
        ArgumentOutOfRangeException.ThrowIfNegativeOrZero(length);

        if (!OperatingSystem.IsLinux())
        {
            return false; // There the number means another call, or nothing.
        }

        using HeldDescriptor descriptor = new(file);
        CacheRange range = new() { Offset = (ulong)offset, Length = (ulong)length };
        CacheStatistics statistics = default;

        // SAFETY: the kernel reads one local and writes the other during the call; both have the layout of its header.
        nint result = Libc.SystemCall(StatisticsNumber, descriptor.Number, (nint)(&range), (nint)(&statistics), 0, 0, 0);
        ulong first = (ulong)offset / (ulong)Environment.SystemPageSize;
        ulong last = (ulong)(offset + length - 1) / (ulong)Environment.SystemPageSize;
        return result == 0 && statistics.CachedPages > last - first;
    }

    /// <summary>Reads from the page cache, without waiting for a disk.</summary>
    /// <remarks>Source: preadv2(2) with <c>RWF_NOWAIT</c>, Linux 4.14; not on all file systems (overlayfs).</remarks>
    /// <param name="file">A regular file.</param>
    /// <param name="offset">Start of the range in bytes, 0 or more.</param>
    /// <param name="buffer">1 byte or more.</param>
    /// <returns>
    /// Bytes read, fewer than fit if the cache does not have the rest or the file ends; 0 if the file ends at the
    /// offset or before it; -1 if nothing can be read without waiting, and after any other error, which an ordinary
    /// read then reports.
    /// </returns>
    /// <exception cref="ObjectDisposedException">The file is closed.</exception>
    public static int TryRead(SafeFileHandle file, long offset, Span<byte> buffer)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(offset);
        ArgumentOutOfRangeException.ThrowIfZero(buffer.Length);

        if (!OperatingSystem.IsLinux())
        {
            return -1;
        }

        using HeldDescriptor descriptor = new(file);

        // SAFETY: the kernel reads the vector of this frame and writes to the buffer, which is pinned, during the call.
        fixed (byte* start = buffer)
        {
            IoVector vector = new() { Base = (ulong)start, Length = (ulong)buffer.Length };
            return (int)Libc.SystemCall(
                LibcConstants.ReadNumber, descriptor.Number, (nint)(&vector), 1, (nint)offset, 0, LibcConstants.ReadWithoutWaiting);
        }
    }
}
