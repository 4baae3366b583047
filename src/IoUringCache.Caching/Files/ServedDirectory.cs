using System.Text;
using IoUringCache.Caching.Options;
using IoUringCache.Ring;
using IoUringCache.Ring.Files;
using Microsoft.Win32.SafeHandles;

namespace IoUringCache.Caching.Files;

/// <summary>The directory that is served in the place of an origin. Any thread; one per service, owned by the host.</summary>
/// <remarks>
/// Opening is a system call that may wait for a disk where nothing of the directories on the way is in memory. It is made where the request runs:
/// on io_uring with <c>Adaptive</c> another thread goes on with the loop if that takes long (docs/design/directory.md).
/// </remarks>
internal sealed class ServedDirectory : IDisposable
{
    private readonly DirectoryDescriptor _directory;
    private readonly TimeProvider _time;

    private ServedDirectory(DirectoryDescriptor directory, TimeProvider time) => (_directory, _time) = (directory, time);

    /// <summary>Opens the directory once; it stays the same one whatever becomes of its name.</summary>
    /// <param name="path">Absolute.</param>
    /// <exception cref="OptionException">There is no such directory, or no safe way here to open files beneath one.</exception>
    public static ServedDirectory Open(string path, TimeProvider time) => new(OpenFor(OptionCatalog.Origin.Name, path), time);

    /// <summary>Whether <see cref="Open"/> can be done now.</summary>
    /// <param name="option">The one that names the directory, for example <c>Cache:Routes:0:Origin</c>.</param>
    /// <param name="path">As for <see cref="Open"/>.</param>
    /// <exception cref="OptionException">It cannot.</exception>
    public static void Check(string option, string path) => OpenFor(option, path).Dispose();

    /// <summary>
    /// Opens one form of a file. What is no regular file is not there: a FIFO would have to be waited for, and a device is not a thing to send.
    /// </summary>
    /// <param name="file">Open, and the caller's.</param>
    /// <returns><see cref="Errno.None"/> if it is there.</returns>
    public Errno TryOpen(FormName form, out ServedFile? file)
    {
        file = null;
        Errno error = _directory.TryOpenFile(form.Path, out SafeFileHandle? handle);
        if (error != Errno.None)
        {
            return error;
        }

        try
        {
            FileStatus status = FileStatus.Of(handle!);
            file = status.IsRegularFile ? new(handle!, new FileHead(form, status, _time.GetUtcNow())) : null;
            return file is null ? Errno.ENOENT : Errno.None;
        }
        catch (IoUringException failure)
        {
            return failure.Error;
        }
        finally
        {
            if (file is null)
            {
                handle!.Dispose();
            }
        }
    }

    public void Dispose() => _directory.Dispose();

    private static DirectoryDescriptor OpenFor(string option, string path)
    {
        try
        {
            return DirectoryDescriptor.Open(Encoding.UTF8.GetBytes(path));
        }
        catch (IoUringException failure)
        {
            throw new OptionException($"Option {option}: cannot serve '{path}': {DirectoryFault.Explain(failure.Error)}") { Name = option };
        }
    }
}
