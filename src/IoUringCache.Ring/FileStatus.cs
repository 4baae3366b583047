using System.Runtime.InteropServices;
using IoUringCache.Ring.Native;

namespace IoUringCache.Ring;

/// <summary>What an open file was at one moment, all of it at the same: kind, length, last change, number, owner. Immutable.</summary>
/// <remarks>Source: statx(2), inode(7).</remarks>
/// <example><code>
/// FileStatus status = FileStatus.Of(file);
/// long length = status.IsRegularFile ? status.Length : 0;
/// </code></example>
public readonly record struct FileStatus
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

    /// <summary>Whether it is a regular file, and neither directory, FIFO, socket nor device.</summary>
    public bool IsRegularFile => (_mode & LibcConstants.KindMask) == LibcConstants.RegularFile;

    /// <summary>Whether it is a directory.</summary>
    public bool IsDirectory => (_mode & LibcConstants.KindMask) == LibcConstants.Directory;

    /// <summary>Bytes; means something for regular files.</summary>
    public long Length { get; }

    /// <summary>Number of the file on its file system: another file by the same name has another one, until this one is gone.</summary>
    public ulong Inode { get; }

    /// <summary>The user whose file it is.</summary>
    public uint OwnerId { get; }

    /// <summary>Names of the file: 1 or more for a regular file, 0 once it is deleted.</summary>
    public int LinkCount { get; }

    /// <summary>What owner, group and others may do with it, without access control lists; those show as rights of the group.</summary>
    public UnixFileMode Permissions => (UnixFileMode)(_mode & LibcConstants.PermissionMask);

    /// <summary>The effective user of this process, whose files new ones are.</summary>
    /// <remarks>Source: geteuid(2).</remarks>
    public static uint ProcessUserId => Libc.GetEffectiveUserId();

    /// <summary>When its content was last changed: whole seconds since 1970-01-01T00:00:00Z, by the clock of the file system.</summary>
    public long ModifiedSeconds { get; }

    /// <summary>The rest of that time: 0 to 999,999,999. Changes within a tick of the file system's clock do not show.</summary>
    public int ModifiedNanoseconds { get; }

    /// <summary>Asks for the status of a file that is open, whatever its name means by now.</summary>
    /// <param name="file">A descriptor of a file.</param>
    /// <returns>Its status at this moment.</returns>
    /// <exception cref="IoUringException">The file system fails (EIO).</exception>
    /// <exception cref="ObjectDisposedException">The file is closed.</exception>
    public static unsafe FileStatus Of(SafeHandle file)
    {
        ArgumentNullException.ThrowIfNull(file);
        FileStatistics statistics = default;
        byte noName = 0;
        bool isHeld = false;
        try
        {
            file.DangerousAddRef(ref isHeld);

            // SAFETY: the kernel reads an empty name of this frame and writes to a structure of it during the call.
            nint result = Libc.SystemCall(
                LibcConstants.StatusNumber, file.DangerousGetHandle(), (nint)(&noName), LibcConstants.EmptyPath, LibcConstants.WantedStatistics,
                (nint)(&statistics), 0);
            return result == 0 ? new FileStatus(statistics) : throw new IoUringException("statx", Libc.LastError);
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
