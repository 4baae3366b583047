using System.Text;
using CachingService.Http;
using CachingService.Options;
using IoUringCache.Ring;
using Microsoft.Extensions.Primitives;
using Microsoft.Win32.SafeHandles;

namespace CachingService.Files;

/// <summary>
/// The directory that is served in the place of an origin: finds the file of a name, in the form that a client wants most. Any thread; one per
/// service, owned by the host.
/// </summary>
/// <remarks>
/// Opening is a system call that may wait for a disk where nothing of the directories on the way is in memory. It is made where the request runs:
/// on io_uring with <c>Adaptive</c> another thread goes on with the loop if that takes long (decision 26).
/// </remarks>
internal sealed class ServedDirectory : IDisposable
{
    private readonly DirectoryDescriptor _directory;
    private readonly TimeProvider _time;

    private ServedDirectory(DirectoryDescriptor directory, TimeProvider time) => (_directory, _time) = (directory, time);

    /// <summary>Opens the directory once; it stays the same one whatever becomes of its name.</summary>
    /// <param name="path">Absolute.</param>
    /// <param name="time">Clock that the times of files are compared with.</param>
    /// <exception cref="OptionException">There is no such directory, or no safe way here to open files beneath one.</exception>
    public static ServedDirectory Open(string path, TimeProvider time)
    {
        try
        {
            return new(DirectoryDescriptor.Open(Encoding.UTF8.GetBytes(path)), time);
        }
        catch (IoUringException failure)
        {
            throw new OptionException($"Option {OptionCatalog.Origin.Name}: cannot serve '{path}': {OpenFailure.Explain(failure.Error)}");
        }
    }

    /// <summary>
    /// Opens the file of a name as the client may read it: the form of the greatest weight, of equal ones the one that is usually smallest.
    /// Encoded forms are neighbours, <c>name.br</c> and <c>name.gz</c>, that are not older than the file itself; without the file they are none.
    /// </summary>
    /// <param name="name">Bytes, relative to the directory.</param>
    /// <param name="accepted">All lines of Accept-Encoding.</param>
    /// <param name="file">The caller's; <see langword="null"/> if there is none in a form that the client can read.</param>
    /// <returns><see cref="Errno.None"/> if the file is there, in whatever form.</returns>
    public Errno Open(byte[] name, StringValues accepted, out ServedFile? file)
    {
        Errno error = Open(name, ContentCoding.Identity, out ServedFile? plain);
        file = plain is null ? null : Choose(name, CodingWeights.Parse(accepted), plain);
        return error;
    }

    public void Dispose() => _directory.Dispose();

    private ServedFile? Choose(byte[] name, CodingWeights weights, ServedFile plain)
    {
        ServedFile? neighbour = weights.Gzip > weights.Brotli ? FindGzip() ?? FindBrotli() : FindBrotli() ?? FindGzip();
        if (neighbour is null && weights.Identity > 0)
        {
            return plain;
        }

        plain.Dispose();
        return neighbour;

        ServedFile? FindBrotli() => IsWanted(weights.Brotli) ? FindNeighbour([.. name, .. ".br"u8], ContentCoding.Brotli, plain) : null;
        ServedFile? FindGzip() => IsWanted(weights.Gzip) ? FindNeighbour([.. name, .. ".gz"u8], ContentCoding.Gzip, plain) : null;
        bool IsWanted(int weight) => weight > 0 && weight >= weights.Identity;
    }

    /// <summary>Whatever is wrong with a neighbour, the file itself can be served.</summary>
    private ServedFile? FindNeighbour(byte[] name, ContentCoding coding, ServedFile plain)
    {
        Open(name, coding, out ServedFile? neighbour);
        if (neighbour?.IsOlderThan(plain) == true)
        {
            neighbour.Dispose();
            return null;
        }

        return neighbour;
    }

    /// <summary>What is no regular file is not there: a FIFO would have to be waited for, and a device is not a thing to send.</summary>
    private Errno Open(ReadOnlySpan<byte> name, ContentCoding coding, out ServedFile? file)
    {
        file = null;
        Errno error = _directory.TryOpenFile(name, out SafeFileHandle? handle);
        if (error != Errno.None)
        {
            return error;
        }

        try
        {
            FileStatus status = FileStatus.Of(handle!);
            file = status.IsRegularFile ? new(handle!, status, coding, _time.GetUtcNow()) : null;
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
}
