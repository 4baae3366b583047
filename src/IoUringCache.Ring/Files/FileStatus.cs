using System.Runtime.InteropServices;
using IoUringCache.Ring.Native;

namespace IoUringCache.Ring.Files;

/// <summary>Kind, length, time of the last change, inode and owner of an open file at one moment. Immutable.</summary>
/// <remarks>Source: statx(2), inode(7).</remarks>
internal readonly record struct FileStatus
{
    private readonly ushort _mode;

    private FileStatus(in FileStatistics statistics)
    {
        _mode = statistics.Mode;
        Length = (long)statistics.Size;
        Inode = statistics.Inode;
        (OwnerId, LinkCount) = (statistics.UserId, (int)statistics.LinkCount);
        ModifiedSeconds = statistics.ModifiedSeconds;
        ModifiedNanoseconds = (int)statistics.ModifiedNanoseconds;
    }

    /// <summary>Whether it is a regular file: no directory, FIFO, socket or device.</summary>
    internal bool IsRegularFile => (_mode & LibcConstants.KindMask) == LibcConstants.RegularFile;

    /// <summary>Whether it is a directory.</summary>
    internal bool IsDirectory => (_mode & LibcConstants.KindMask) == LibcConstants.Directory;

    /// <summary>Bytes; defined for regular files only.</summary>
    internal long Length { get; }

    /// <summary>The inode number, unique on the file system until the file is deleted and closed.</summary>
    internal ulong Inode { get; }

    /// <summary>The user id of the owner.</summary>
    internal uint OwnerId { get; }

    /// <summary>Number of names: 1 or more for a regular file, 0 after it is deleted.</summary>
    internal int LinkCount { get; }

    /// <summary>Permissions of owner, group and others; those of the group include access control lists.</summary>
    internal UnixFileMode Permissions => (UnixFileMode)(_mode & LibcConstants.PermissionMask);

    /// <summary>The effective user id of this process, which owns the files that it creates.</summary>
    /// <remarks>Source: geteuid(2).</remarks>
    internal static uint ProcessUserId => Libc.GetEffectiveUserId();

    /// <summary>
    /// Last change of the content, in whole seconds since 1970-01-01T00:00:00Z by the file system's clock.
    /// </summary>
    internal long ModifiedSeconds { get; }

    /// <summary>The fraction of that second, 0 to 999,999,999, at the resolution of the file system's clock.</summary>
    internal int ModifiedNanoseconds { get; }

    /// <summary>Reads the status of an open file, whatever its name refers to now.</summary>
    /// <param name="file">A descriptor of a file or directory.</param>
    /// <returns>Its status at this moment.</returns>
    /// <exception cref="IoUringException">The file system fails (EIO).</exception>
    /// <exception cref="ObjectDisposedException">The file is closed.</exception>
    internal static unsafe FileStatus Of(SafeHandle file)
    {
        FileStatistics statistics = default;
        byte noName = 0;
        using HeldDescriptor descriptor = new(file);

        // SAFETY: the kernel reads an empty name and writes a structure, both in this frame, during the call.
        nint result = Libc.SystemCall(
            LibcConstants.StatusNumber,
            descriptor.Number,
            (nint)(&noName),
            LibcConstants.EmptyPath,
            LibcConstants.WantedStatistics,
            (nint)(&statistics),
            0);
        return result == 0 ? new FileStatus(statistics) : throw new IoUringException("statx", (Errno)Libc.LastError);
    }
}
