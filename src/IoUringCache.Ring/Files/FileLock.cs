using IoUringCache.Ring.Native;
using Microsoft.Win32.SafeHandles;

namespace IoUringCache.Ring.Files;

/// <summary>Advisory locks on open files, by which processes agree on who uses a file. Any thread.</summary>
/// <remarks>
/// Source: flock(2). A lock belongs to the open file, so another opening of the same file conflicts with it, also in
/// the same process. It ends when the file is closed, however the process ends.
/// </remarks>
internal static class FileLock
{
    /// <summary>Takes an exclusive lock, without waiting.</summary>
    /// <returns>
    /// <see cref="Errno.None"/>, or the kernel's error: EAGAIN if another opening has a lock, EOPNOTSUPP and others if
    /// the file system has no locks.
    /// </returns>
    /// <exception cref="ObjectDisposedException">The file is closed.</exception>
    internal static Errno TryAcquire(SafeFileHandle file) => Change(file, LibcConstants.ExclusiveLockWithoutWaiting);

    /// <summary>
    /// Ends a lock, also for a child process that still has a copy of the descriptor because it has not yet run its
    /// program; closing the file alone would leave the lock to that copy. Does nothing without a lock.
    /// </summary>
    /// <exception cref="ObjectDisposedException">The file is closed.</exception>
    internal static void Release(SafeFileHandle file) => Change(file, LibcConstants.Unlock);

    private static Errno Change(SafeFileHandle file, int operation)
    {
        using HeldDescriptor descriptor = new(file);
        return Libc.LockFile(descriptor.Number, operation) == 0 ? Errno.None : (Errno)Libc.LastError;
    }
}
