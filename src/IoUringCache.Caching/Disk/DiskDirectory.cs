using System.Text;
using IoUringCache.Caching.Options;
using IoUringCache.Ring;
using IoUringCache.Ring.Files;
using Microsoft.Win32.SafeHandles;

namespace IoUringCache.Caching.Disk;

/// <summary>
/// The directory of a disk tier, held open, and the way to all files in it. It and each of them must be this process's own, and others must not
/// be able to write to them: what they could put there would be served to everybody, and a link would lead the service's writes elsewhere. No
/// symbolic link in it is followed; those on the way to it are. Owned by the tier's files.
/// </summary>
internal sealed class DiskDirectory : IDisposable
{
    private const UnixFileMode ForOwner = UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute;
    private const UnixFileMode WritableByOthers = UnixFileMode.GroupWrite | UnixFileMode.OtherWrite;

    private readonly string _path;
    private readonly DirectoryDescriptor _directory;

    private DiskDirectory(string path, DirectoryDescriptor directory) => (_path, _directory) = (path, directory);

    /// <summary>Makes it if it is missing, for its owner alone.</summary>
    /// <param name="path">Absolute.</param>
    /// <exception cref="OptionException">There can be none, or it is not this process's own.</exception>
    public static DiskDirectory Open(string path)
    {
        try
        {
            Directory.CreateDirectory(path, ForOwner);
            DirectoryDescriptor directory = DirectoryDescriptor.Open(Encoding.UTF8.GetBytes(path));
            if (ObjectionTo(FileStatus.Of(directory)) is { } objection)
            {
                directory.Dispose();
                throw Refuse(path, $"{objection}, or name a directory that is missing, which is then made");
            }

            return new(path, directory);
        }
        catch (IoUringException failure)
        {
            throw Refuse(path, DirectoryFault.Explain(failure.Error));
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
        {
            throw Refuse(path, failure.Message);
        }
    }

    /// <summary>Opens a file for reading and writing, and makes it if it is missing, empty and for its owner alone.</summary>
    /// <exception cref="OptionException">The file may belong to another user or program.</exception>
    /// <exception cref="DiskException">The kernel failed.</exception>
    public DiskFile OpenFile(string name)
    {
        Errno error = _directory.TryOpenFileForWriting(Encoding.UTF8.GetBytes(name), out SafeFileHandle? handle);
        if (error is Errno.ELOOP)
        {
            throw Refuse(_path, $"'{name}' in it is a symbolic link: delete it");
        }

        DiskFile file = new(this, name, handle ?? throw DiskException.Failed(DropReason.WriteFailed, PathOf(name), 0, -(int)error));
        try
        {
            Check(name, FileStatus.Of(handle));
            return file;
        }
        catch
        {
            file.Dispose();
            throw;
        }
    }

    /// <exception cref="DiskException">It is there, and cannot be deleted.</exception>
    public void Delete(string name)
    {
        Errno error = _directory.TryDeleteFile(Encoding.UTF8.GetBytes(name));
        if (error is not (Errno.None or Errno.ENOENT))
        {
            throw DiskException.Failed(DropReason.WriteFailed, PathOf(name), 0, -(int)error);
        }
    }

    /// <summary>For messages.</summary>
    public string PathOf(string name) => Path.Combine(_path, name);

    public void Dispose() => _directory.Dispose();

    private void Check(string name, FileStatus status)
    {
        if (!status.IsRegularFile)
        {
            throw Refuse(_path, $"'{name}' in it is no regular file: delete it");
        }

        if (status.LinkCount > 1)
        {
            throw Refuse(_path, $"'{name}' in it has another name elsewhere: delete it");
        }

        if (ObjectionTo(status) is { } objection)
        {
            throw Refuse(_path, $"'{name}' in it: {objection}, or delete it");
        }
    }

    /// <summary>Why it may not be trusted, and what to do about it.</summary>
    private static string? ObjectionTo(FileStatus status) => status switch
    {
        _ when status.OwnerId != FileStatus.ProcessUserId =>
            $"user {status.OwnerId} owns it, and this process is user {FileStatus.ProcessUserId}: make it this user's (chown)",
        _ when (status.Permissions & WritableByOthers) != 0 =>
            $"its mode {Convert.ToString((int)status.Permissions, 8)} lets others write to it, who could replace what is cached: take that away (chmod go-w)",
        _ => null,
    };

    private static OptionException Refuse(string path, string reason) =>
        new($"Option {DiskOptionCatalog.Path.Name}: cannot use '{path}': {reason.TrimEnd('.')}.");
}

/// <summary>A file of the disk tier, open for reading and writing until disposed. Immutable; any thread; owned by the tier's files.</summary>
/// <param name="handle">Belongs to this.</param>
internal sealed class DiskFile(DiskDirectory directory, string name, SafeFileHandle handle) : IDisposable
{
    /// <summary>For messages.</summary>
    public string Path => directory.PathOf(name);

    public SafeFileHandle Handle => handle;

    /// <summary>Takes its name away. Who has it open goes on.</summary>
    /// <exception cref="DiskException">It cannot be deleted.</exception>
    public void Delete() => directory.Delete(name);

    public void Dispose() => handle.Dispose();
}
