using System.Runtime.Versioning;
using IoUringCache.Ring.Native;
using Microsoft.Win32.SafeHandles;

namespace IoUringCache.Ring.Files;

/// <summary>
/// An open directory, beneath which files are opened, created and deleted; the kernel resolves no name to anything
/// outside, whatever the name says and whatever symbolic links exist. Any thread.
/// </summary>
/// <remarks>
/// Source: openat2(2), Linux 5.6, with <c>RESOLVE_BENEATH</c> and <c>RESOLVE_NO_MAGICLINKS</c>. It stays the directory
/// that was opened, also when another directory takes its name. Mounts beneath it are part of it.
/// </remarks>
internal sealed unsafe class DirectoryDescriptor : SafeHandleMinusOneIsInvalid
{
    /// <summary><c>PATH_MAX</c>: the kernel accepts no longer name, its final 0 included.</summary>
    private const int MaxNameBytes = 4096;

    /// <summary>Retries of a name whose resolution raced with renames of directories on its path.</summary>
    private const int MaxRaces = 16;

    private DirectoryDescriptor(int descriptor)
        : base(ownsHandle: true) => SetHandle(descriptor);

    /// <summary>Opens a directory, only to open files beneath it: it need not be readable.</summary>
    /// <param name="path">
    /// Bytes of a path without a final 0; relative to the working directory or absolute; links are followed.
    /// </param>
    /// <returns>The directory; the caller disposes it.</returns>
    /// <exception cref="ArgumentException">The path contains a 0.</exception>
    /// <exception cref="IoUringException">
    /// ENOSYS or EPERM: openat2(2) is unavailable. ENOENT, ENOTDIR, EACCES: the directory does not exist, or the
    /// process may not open it.
    /// </exception>
    [SupportedOSPlatform("linux")]
    internal static DirectoryDescriptor Open(ReadOnlySpan<byte> path)
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
    /// Opens a file beneath this directory for reading. Does not wait for the other end of a FIFO, and does not make a
    /// terminal the process's own; <see cref="FileStatus"/> tells whether it is a regular file.
    /// </summary>
    /// <param name="name">A name in bytes, relative to this directory, without a final 0; need not be UTF-8.</param>
    /// <param name="file">The file, close-on-exec; the caller disposes it.</param>
    /// <returns>
    /// <see cref="Errno.None"/>, or the kernel's error: EXDEV if the name leads outside, ELOOP through magic links,
    /// ENOENT, ENOTDIR, ENAMETOOLONG (also for more than 4,095 bytes), EACCES, ENXIO for a socket, EMFILE, EAGAIN if
    /// renames of directories race with every attempt.
    /// </returns>
    /// <exception cref="ArgumentException">The name contains a 0.</exception>
    /// <exception cref="ObjectDisposedException">The directory is closed.</exception>
    internal Errno TryOpenFile(ReadOnlySpan<byte> name, out SafeFileHandle? file)
    {
        OpenHow how = new()
        {
            Flags = LibcConstants.NonBlocking | LibcConstants.CloseOnExec | LibcConstants.NoControllingTerminal,
            Resolve = LibcConstants.ResolveBeneath | LibcConstants.ResolveNoMagicLinks,
        };
        return TryOpen(name, how, out file);
    }

    /// <summary>
    /// Opens a file beneath this directory for reading and writing, and creates it if it does not exist, with
    /// permissions for its owner only. Follows no symbolic link; <see cref="FileStatus"/> tells its owner and whether
    /// it is a regular file.
    /// </summary>
    /// <param name="name">A name in bytes, as for <see cref="TryOpenFile"/>.</param>
    /// <param name="file">The file, close-on-exec; the caller disposes it.</param>
    /// <returns>
    /// <see cref="Errno.None"/>, or the kernel's error: ELOOP if a part of the name is a symbolic link, EACCES, EISDIR
    /// for a directory, ENOSPC and EROFS if the file cannot be created, and the errors of <see cref="TryOpenFile"/>.
    /// </returns>
    /// <exception cref="ArgumentException">The name contains a 0.</exception>
    /// <exception cref="ObjectDisposedException">The directory is closed.</exception>
    internal Errno TryOpenFileForWriting(ReadOnlySpan<byte> name, out SafeFileHandle? file)
    {
        OpenHow how = new()
        {
            Flags = LibcConstants.ReadWriteOrCreate | LibcConstants.CloseOnExec | LibcConstants.NoControllingTerminal,
            Mode = LibcConstants.OwnerMayReadAndWrite,
            Resolve = LibcConstants.ResolveBeneath | LibcConstants.ResolveNoSymbolicLinks,
        };
        return TryOpen(name, how, out file);
    }

    /// <summary>
    /// Removes a name from this directory; the file goes with its last name and its last open descriptor. Follows no
    /// symbolic link.
    /// </summary>
    /// <param name="name">The name of an entry of this directory in bytes, without a slash or a final 0.</param>
    /// <returns><see cref="Errno.None"/>, or the kernel's error: ENOENT, EISDIR, EACCES, EPERM, EROFS.</returns>
    /// <remarks>Source: unlinkat(2).</remarks>
    /// <exception cref="ArgumentException">The name contains a 0 or a slash.</exception>
    /// <exception cref="ObjectDisposedException">The directory is closed.</exception>
    internal Errno TryDeleteFile(ReadOnlySpan<byte> name)
    {
        if (name.Contains((byte)'/'))
        {
            throw new ArgumentException("The name of an entry cannot contain a slash.", nameof(name));
        }

        using HeldDescriptor directory = new(this);
        if (name.Length >= MaxNameBytes)
        {
            return Errno.ENAMETOOLONG;
        }

        byte* text = stackalloc byte[name.Length + 1];
        CopyName(name, text);

        // SAFETY: the kernel reads the name, which ends with 0 and is in this frame, during the call.
        return Libc.Unlink(directory.Number, text, flags: 0) == 0 ? Errno.None : (Errno)Libc.LastError;
    }

    protected override bool ReleaseHandle() => Libc.Close((int)handle) == 0;

    private Errno TryOpen(ReadOnlySpan<byte> name, OpenHow how, out SafeFileHandle? file)
    {
        using HeldDescriptor directory = new(this);
        int descriptor = OpenAt(directory.Number, name, how);
        file = descriptor < 0 ? null : new SafeFileHandle(descriptor, ownsHandle: true);
        return descriptor < 0 ? (Errno)(-descriptor) : Errno.None;
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
            // SAFETY: the kernel reads the name, which ends with 0, and the structure during the call; both are in this
            // frame.
            nint result = Libc.SystemCall(LibcConstants.OpenNumber, directory, (nint)text, (nint)(&how), sizeof(OpenHow), 0, 0);
            Errno error = result >= 0 ? Errno.None : (Errno)Libc.LastError;
            if (error != Errno.EINTR && (error != Errno.EAGAIN || race == MaxRaces))
            {
                return result >= 0 ? (int)result : -(int)error;
            }
        }
    }

    /// <summary>SAFETY: <paramref name="text"/> has one byte more than the name, in the caller's frame.</summary>
    private static void CopyName(ReadOnlySpan<byte> name, byte* text)
    {
        if (name.Contains((byte)0))
        {
            throw new ArgumentException("A name cannot contain a 0.", nameof(name));
        }

        name.CopyTo(new Span<byte>(text, name.Length));
        text[name.Length] = 0;
    }
}
