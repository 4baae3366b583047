using IoUringCache.Ring.Native;
using Microsoft.Win32.SafeHandles;

namespace IoUringCache.Ring;

/// <summary>Locks on open files by which processes agree who uses them. Any thread.</summary>
/// <remarks>
/// Source: flock(2). A lock belongs to the open file, so another opening of the same file conflicts with it, in the same process too. It ends when
/// the file is closed, however the process ends. Who does not ask for locks is not held up by them.
/// </remarks>
/// <example><code>
/// bool isFirst = FileLock.TryAcquire(file) == Errno.None;
/// </code></example>
public static class FileLock
{
    /// <summary>Locks a file for this opening of it alone, without waiting.</summary>
    /// <param name="file">A file.</param>
    /// <returns>
    /// <see cref="Errno.None"/>, or what the kernel says: EAGAIN where another opening has a lock, EOPNOTSUPP and others where the file system
    /// has none.
    /// </returns>
    /// <exception cref="ObjectDisposedException">The file is closed.</exception>
    public static Errno TryAcquire(SafeFileHandle file) => Change(file, LibcConstants.ExclusiveLockWithoutWaiting);

    /// <summary>
    /// Unlocks a file, also for a process that is being started just now and has a copy of the descriptor until it runs its program: a close
    /// alone leaves the lock to that copy. Does nothing where there is no lock.
    /// </summary>
    /// <param name="file">A file.</param>
    /// <exception cref="ObjectDisposedException">The file is closed.</exception>
    public static void Release(SafeFileHandle file) => Change(file, LibcConstants.Unlock);

    private static Errno Change(SafeFileHandle file, int operation)
    {
        ArgumentNullException.ThrowIfNull(file);
        bool isHeld = false;
        try
        {
            file.DangerousAddRef(ref isHeld);
            return Libc.LockFile((int)file.DangerousGetHandle(), operation) == 0 ? Errno.None : Libc.LastError;
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
