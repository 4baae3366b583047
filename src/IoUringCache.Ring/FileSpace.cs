using IoUringCache.Ring.Native;
using Microsoft.Win32.SafeHandles;

namespace IoUringCache.Ring;

/// <summary>Space of files on their disk. Any thread.</summary>
/// <remarks>Source: fallocate(2).</remarks>
/// <example><code>
/// bool isFull = FileSpace.TryAllocate(file, length) == Errno.ENOSPC;
/// </code></example>
public static class FileSpace
{
    /// <summary>
    /// Reserves the space of a file from its start on, so that no write there finds the disk full. A shorter file gets the length; what it did not
    /// have reads as zeros.
    /// </summary>
    /// <param name="file">A regular file, open for writing.</param>
    /// <param name="length">Bytes, 1 or more.</param>
    /// <returns>
    /// <see cref="Errno.None"/>, or what the kernel says: ENOSPC where there is not so much, EFBIG, EOPNOTSUPP where the file system cannot do
    /// this. The file may then have a part of the space.
    /// </returns>
    /// <exception cref="ObjectDisposedException">The file is closed.</exception>
    public static Errno TryAllocate(SafeFileHandle file, long length)
    {
        ArgumentNullException.ThrowIfNull(file);
        ArgumentOutOfRangeException.ThrowIfNegativeOrZero(length);
        bool isHeld = false;
        try
        {
            file.DangerousAddRef(ref isHeld);
            Errno error;
            do
            {
                error = Libc.AllocateSpace((int)file.DangerousGetHandle(), mode: 0, offset: 0, length) == 0 ? Errno.None : Libc.LastError;
            }
            while (error == Errno.EINTR);

            return error;
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
