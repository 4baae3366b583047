using System.Runtime.Versioning;
using IoUringCache.Ring.Native;
using Microsoft.Win32.SafeHandles;

namespace IoUringCache.Ring;

/// <summary>
/// A directory that is held open, and beneath which files are opened, made and deleted: whatever a name says and whatever symbolic links lie
/// there, the kernel never resolves it to anything outside. Any thread; names cannot be listed through it.
/// </summary>
/// <remarks>
/// Source: openat2(2), Linux 5.6, with <c>RESOLVE_BENEATH</c> and <c>RESOLVE_NO_MAGICLINKS</c>. The directory stays the one that was opened,
/// also when another takes its name. Mounts beneath it are part of it.
/// </remarks>
/// <example><code>
/// using DirectoryDescriptor directory = DirectoryDescriptor.Open(path);
/// Errno error = directory.TryOpenFile("logo.png"u8, out SafeFileHandle? file);
/// </code></example>
public sealed unsafe class DirectoryDescriptor : SafeHandleMinusOneIsInvalid
{
    /// <summary><c>PATH_MAX</c>: the kernel takes no longer name, its final 0 included.</summary>
    private const int MaxNameBytes = 4096;

    /// <summary>How often a name is tried again that was resolved while somebody renamed directories on its way.</summary>
    private const int MaxRaces = 16;

    private DirectoryDescriptor(int descriptor)
        : base(ownsHandle: true) => SetHandle(descriptor);

    /// <summary>Opens a directory, for nothing but to open files beneath it: it need not be readable.</summary>
    /// <param name="path">Bytes of a path, absolute or relative to the working directory, without a final 0. Links are followed.</param>
    /// <returns>The directory; the caller disposes it.</returns>
    /// <exception cref="ArgumentException">The path has a 0 in it.</exception>
    /// <exception cref="IoUringException">
    /// ENOSYS or EPERM: openat2(2) is not to be had here. ENOENT, ENOTDIR, EACCES: there is no such directory, or none for this process.
    /// </exception>
    [SupportedOSPlatform("linux")]
    public static DirectoryDescriptor Open(ReadOnlySpan<byte> path)
    {
        OpenHow how = new() { Flags = LibcConstants.PathOnly | LibcConstants.CloseOnExec };
        int descriptor = OpenAt(LibcConstants.WorkingDirectory, path, how);
        if (descriptor < 0)
        {
            throw new IoUringException("openat2", (Errno)(-descriptor));
        }

        DirectoryDescriptor directory = new(descriptor);
        try
        {
            return FileStatus.Of(directory).IsDirectory ? directory : throw new IoUringException("openat2", Errno.ENOTDIR);
        }
        catch
        {
            directory.Dispose();
            throw;
        }
    }

    /// <summary>
    /// Opens what a name means beneath this directory, for reading. Never waits for the other end of a FIFO, and never makes a terminal the
    /// process's own; whether it is a regular file is <see cref="FileStatus"/>' to say.
    /// </summary>
    /// <param name="name">Bytes, relative to this directory, without a final 0; they need not be UTF-8.</param>
    /// <param name="file">The file, close-on-exec; the caller disposes it.</param>
    /// <returns>
    /// <see cref="Errno.None"/>, or what the kernel says: EXDEV where the name leads outside, ELOOP through magic links, ENOENT, ENOTDIR,
    /// ENAMETOOLONG (also for more than 4,095 bytes), EACCES, ENXIO for a socket, EMFILE, EAGAIN where somebody renames directories without end.
    /// </returns>
    /// <exception cref="ArgumentException">The name has a 0 in it.</exception>
    /// <exception cref="ObjectDisposedException">The directory is closed.</exception>
    public Errno TryOpenFile(ReadOnlySpan<byte> name, out SafeFileHandle? file)
    {
        OpenHow how = new()
        {
            Flags = LibcConstants.NonBlocking | LibcConstants.CloseOnExec | LibcConstants.NoControllingTerminal,
            Resolve = LibcConstants.ResolveBeneath | LibcConstants.ResolveNoMagicLinks,
        };
        return TryOpen(name, how, out file);
    }

    /// <summary>
    /// Opens a file beneath this directory for reading and writing, and makes it if there is none, for its owner alone. Follows no symbolic link.
    /// Whose file it is, and whether it is a regular one, is <see cref="FileStatus"/>' to say.
    /// </summary>
    /// <param name="name">As of <see cref="TryOpenFile"/>.</param>
    /// <param name="file">The file, close-on-exec; the caller disposes it.</param>
    /// <returns>
    /// <see cref="Errno.None"/>, or what the kernel says: ELOOP where a part of the name is a symbolic link, EACCES, EISDIR for a directory,
    /// ENOSPC and EROFS where no file can be made, and what <see cref="TryOpenFile"/> returns for such names.
    /// </returns>
    /// <exception cref="ArgumentException">The name has a 0 in it.</exception>
    /// <exception cref="ObjectDisposedException">The directory is closed.</exception>
    public Errno TryOpenFileForWriting(ReadOnlySpan<byte> name, out SafeFileHandle? file)
    {
        OpenHow how = new()
        {
            Flags = LibcConstants.ReadWriteOrCreate | LibcConstants.CloseOnExec | LibcConstants.NoControllingTerminal,
            Mode = LibcConstants.OwnerMayReadAndWrite,
            Resolve = LibcConstants.ResolveBeneath | LibcConstants.ResolveNoSymbolicLinks,
        };
        return TryOpen(name, how, out file);
    }

    /// <summary>Takes a name out of this directory: a file without another name is gone when no descriptor of it is open. Follows no symbolic link.</summary>
    /// <param name="name">Bytes of an entry of this directory itself, without a slash or a final 0.</param>
    /// <returns><see cref="Errno.None"/>, or what the kernel says: ENOENT, EISDIR for a directory, EACCES, EPERM, EROFS.</returns>
    /// <remarks>Source: unlinkat(2).</remarks>
    /// <exception cref="ArgumentException">The name has a 0 or a slash in it.</exception>
    /// <exception cref="ObjectDisposedException">The directory is closed.</exception>
    public Errno TryDeleteFile(ReadOnlySpan<byte> name)
    {
        if (name.Contains((byte)'/'))
        {
            throw new ArgumentException("The name of an entry cannot have a slash in it.", nameof(name));
        }

        bool isHeld = false;
        try
        {
            DangerousAddRef(ref isHeld);
            return name.Length >= MaxNameBytes ? Errno.ENAMETOOLONG : DeleteAt((int)handle, name);
        }
        finally
        {
            if (isHeld)
            {
                DangerousRelease();
            }
        }
    }

    /// <inheritdoc/>
    protected override bool ReleaseHandle() => Libc.Close((int)handle) == 0;

    private Errno TryOpen(ReadOnlySpan<byte> name, OpenHow how, out SafeFileHandle? file)
    {
        bool isHeld = false;
        try
        {
            DangerousAddRef(ref isHeld);
            int descriptor = OpenAt((int)handle, name, how);
            file = descriptor < 0 ? null : new SafeFileHandle(descriptor, ownsHandle: true);
            return descriptor < 0 ? (Errno)(-descriptor) : Errno.None;
        }
        finally
        {
            if (isHeld)
            {
                DangerousRelease();
            }
        }
    }

    private static Errno DeleteAt(int directory, ReadOnlySpan<byte> name)
    {
        byte* text = stackalloc byte[name.Length + 1];
        CopyName(name, text);

        // SAFETY: the kernel reads the name, which ends with 0 and is of this frame, during the call.
        return Libc.Unlink(directory, text, flags: 0) == 0 ? Errno.None : Libc.LastError;
    }

    /// <summary>openat2(2): a descriptor or -errno.</summary>
    private static int OpenAt(int directory, ReadOnlySpan<byte> name, OpenHow how)
    {
        if (name.Length >= MaxNameBytes)
        {
            return -(int)Errno.ENAMETOOLONG;
        }

        byte* text = stackalloc byte[name.Length + 1];
        CopyName(name, text);
        for (int race = 0; ; race++)
        {
            // SAFETY: the kernel reads the name, which ends with 0, and the structure, which are of this frame, during the call.
            nint result = Libc.SystemCall(LibcConstants.OpenNumber, directory, (nint)text, (nint)(&how), sizeof(OpenHow), 0, 0);
            Errno error = result >= 0 ? Errno.None : Libc.LastError;
            if (error != Errno.EINTR && (error != Errno.EAGAIN || race == MaxRaces))
            {
                return result >= 0 ? (int)result : -(int)error;
            }
        }
    }

    /// <summary>SAFETY: the caller has one byte more than the name there, in its frame.</summary>
    private static void CopyName(ReadOnlySpan<byte> name, byte* text)
    {
        if (name.Contains((byte)0))
        {
            throw new ArgumentException("A name cannot have a 0 in it.", nameof(name));
        }

        name.CopyTo(new Span<byte>(text, name.Length));
        text[name.Length] = 0;
    }
}
