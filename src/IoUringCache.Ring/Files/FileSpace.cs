using IoUringCache.Ring.Native;
using Microsoft.Win32.SafeHandles;

namespace IoUringCache.Ring.Files;

/// <summary>Disk space of files. Any thread.</summary>
/// <remarks>Source: fallocate(2).</remarks>
internal static class FileSpace
{
    /// <summary>
    /// Reserves space from the start of a file, so that no write there finds the disk full. A shorter file grows to the
    /// length, and its new bytes read as zeros.
    /// </summary>
    /// <param name="file">A regular file, open for writing.</param>
    /// <param name="length">Bytes, 1 or more.</param>
    /// <returns>
    /// <see cref="Errno.None"/>, or the kernel's error: ENOSPC if the disk is full, EFBIG, EOPNOTSUPP if the file
    /// system cannot reserve space. After an error a part of the space may be reserved.
    /// </returns>
    /// <exception cref="ObjectDisposedException">The file is closed.</exception>
    internal static Errno TryAllocate(SafeFileHandle file, long length)
    {
        ArgumentOutOfRangeException.ThrowIfNegativeOrZero(length);
        using HeldDescriptor descriptor = new(file);
        Errno error;
        do
        {
            error = Libc.AllocateSpace(descriptor.Number, mode: 0, offset: 0, length) == 0 ? Errno.None : (Errno)Libc.LastError;
        }
        while (error == Errno.EINTR);

        return error;
    }
}
