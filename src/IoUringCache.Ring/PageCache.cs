using IoUringCache.Ring.Native;
using Microsoft.Win32.SafeHandles;

namespace IoUringCache.Ring;

/// <summary>What of a file is in memory. Any thread.</summary>
/// <example><code>
/// if (!PageCache.Contains(file, offset, length))
/// {
///     await RandomAccess.ReadAsync(file, buffer, offset, cancellationToken);
/// }
/// </code></example>
public static unsafe class PageCache
{
    private const int StatisticsNumber = 451; // The same on every architecture that .NET runs on.

    /// <summary>
    /// Whether a range is in the page cache as a whole, so that reading it does not wait for a disk. False as well where nobody says: on
    /// other systems than Linux, before 6.5, and on newer ones for a file that the process neither owns nor may write to.
    /// </summary>
    /// <remarks>Source: cachestat(2), Linux 6.5.</remarks>
    /// <param name="file">A regular file.</param>
    /// <param name="offset">Where the range begins, 0 or more.</param>
    /// <param name="length">Bytes, 1 or more; the range lies inside of the file.</param>
    /// <returns>True if every page is there at the moment.</returns>
    /// <exception cref="ObjectDisposedException">The file is closed.</exception>
    public static bool Contains(SafeFileHandle file, long offset, long length)
    {
        ArgumentNullException.ThrowIfNull(file);
        ArgumentOutOfRangeException.ThrowIfNegative(offset);
        ArgumentOutOfRangeException.ThrowIfNegativeOrZero(length);

        if (!OperatingSystem.IsLinux())
        {
            return false; // There the number means another call, or nothing.
        }

        bool isHeld = false;
        try
        {
            file.DangerousAddRef(ref isHeld);
            CacheRange range = new() { Offset = (ulong)offset, Length = (ulong)length };
            CacheStatistics statistics = default;

            // SAFETY: the kernel reads one local and writes the other during the call; both have the layout of its header.
            nint result = Libc.SystemCall(StatisticsNumber, file.DangerousGetHandle(), (nint)(&range), (nint)(&statistics), 0, 0, 0);
            ulong first = (ulong)offset / (ulong)Environment.SystemPageSize;
            ulong last = (ulong)(offset + length - 1) / (ulong)Environment.SystemPageSize;
            return result == 0 && statistics.CachedPages > last - first;
        }
        finally
        {
            if (isHeld)
            {
                file.DangerousRelease();
            }
        }
    }

    /// <summary>Reads what is in the page cache, and does not wait for what is not.</summary>
    /// <remarks>Source: preadv2(2) with <c>RWF_NOWAIT</c>, Linux 4.14. Some file systems do not know it, overlayfs among them.</remarks>
    /// <param name="file">A regular file.</param>
    /// <param name="offset">Where to begin, 0 or more.</param>
    /// <param name="buffer">1 byte or more.</param>
    /// <returns>
    /// Bytes read, fewer than fit where the rest is not in the page cache or the file ends; 0 if it ends at the offset or before it; -1 if
    /// nothing can be read without waiting, or for any other reason, which a read that may wait then tells.
    /// </returns>
    /// <exception cref="ObjectDisposedException">The file is closed.</exception>
    public static int TryRead(SafeFileHandle file, long offset, Span<byte> buffer)
    {
        ArgumentNullException.ThrowIfNull(file);
        ArgumentOutOfRangeException.ThrowIfNegative(offset);
        ArgumentOutOfRangeException.ThrowIfZero(buffer.Length);

        if (!OperatingSystem.IsLinux())
        {
            return -1;
        }

        bool isHeld = false;
        try
        {
            file.DangerousAddRef(ref isHeld);

            // SAFETY: the kernel reads the vector, which is of this frame, and writes to the buffer, which is pinned, during the call.
            fixed (byte* start = buffer)
            {
                IoVector vector = new() { Base = (ulong)start, Length = (ulong)buffer.Length };
                return (int)Libc.SystemCall(
                    LibcConstants.ReadNumber, file.DangerousGetHandle(), (nint)(&vector), 1, (nint)offset, 0, LibcConstants.ReadWithoutWaiting);
            }
        }
        finally
        {
            if (isHeld)
            {
                file.DangerousRelease();
            }
        }
    }
}
