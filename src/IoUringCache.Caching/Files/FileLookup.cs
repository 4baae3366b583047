using IoUringCache.Caching.Http;
using IoUringCache.Caching.Telemetry;
using IoUringCache.Ring;
using Microsoft.Extensions.Primitives;

namespace IoUringCache.Caching.Files;

/// <summary>
/// Finds the file of a name in the form that a client wants most: among the small ones that are kept, else in the directory. Any thread; one per
/// service.
/// </summary>
internal sealed class FileLookup(ServedDirectory directory, KeptFiles kept, CacheMetrics metrics, TimeProvider time)
{
    /// <summary>
    /// The form of the greatest weight, of equal ones the one that is usually smallest. Encoded forms are neighbours, <c>name.br</c> and
    /// <c>name.gz</c>, that are not older than the file itself; without the file they are none.
    /// </summary>
    /// <param name="name">Relative to the directory, a character for each byte.</param>
    /// <param name="accepted">All lines of Accept-Encoding.</param>
    /// <returns>No error if the file is there, in whatever form.</returns>
    public async ValueTask<FoundFile> FindAsync(string name, StringValues accepted)
    {
        FoundFile plain = await FindAsync(new(name, ContentCoding.Identity));
        if (plain.File is null || accepted.Count == 0)
        {
            return plain;
        }

        CodingWeights weights = CodingWeights.Parse(accepted);
        bool isGzipFirst = weights.Gzip > weights.Brotli;
        ServedFile? neighbour = await FindNeighbourAsync(isGzipFirst ? ContentCoding.Gzip : ContentCoding.Brotli)
            ?? await FindNeighbourAsync(isGzipFirst ? ContentCoding.Brotli : ContentCoding.Gzip);
        if (neighbour is null && weights.Identity > 0)
        {
            return plain;
        }

        plain.File.Dispose();
        return new(Errno.None, neighbour);

        async ValueTask<ServedFile?> FindNeighbourAsync(ContentCoding coding)
        {
            int weight = coding == ContentCoding.Gzip ? weights.Gzip : weights.Brotli;
            if (weight == 0 || weight < weights.Identity)
            {
                return null;
            }

            // Whatever is wrong with a neighbour, the file itself can be served.
            ServedFile? file = (await FindAsync(new(name, coding))).File;
            if (file?.Head.IsOlderThan(plain.File.Head) != true)
            {
                return file;
            }

            file.Dispose();
            return null;
        }
    }

    private ValueTask<FoundFile> FindAsync(FormName form) => kept.TryGet(form, out ServedFile? file)
        ? new(new FoundFile(file is null ? Errno.ENOENT : Errno.None, file))
        : OpenAsync(form);

    /// <summary>
    /// Keeps what it finds, if that is small and asked for often: the file, or word that there is no such neighbour. A file that is missing is
    /// looked for each time, so that it is there as soon as it comes, and nobody who asks for anything can fill the memory.
    /// </summary>
    private async ValueTask<FoundFile> OpenAsync(FormName form)
    {
        long begun = time.GetTimestamp();
        metrics.FileOpened();
        Errno error = directory.TryOpen(form, out ServedFile? file);
        if (file is null)
        {
            if (error == Errno.ENOENT && form.Coding != ContentCoding.Identity && kept.Wants(form, length: 0))
            {
                kept.Add(form, file: null, begun);
            }

            return new(error, File: null);
        }

        if (!kept.Wants(form, file.Head.Length) || await file.TryReadAsync() is not { } read)
        {
            return new(Errno.None, file);
        }

        file.Dispose();
        kept.Add(form, read, begun);
        return new(Errno.None, read);
    }
}

/// <summary>What has become of looking for a file.</summary>
/// <param name="Error"><see cref="Errno.None"/> if it is there.</param>
/// <param name="File">The caller's to dispose of; <see langword="null"/> if it is not there, or not in a form that the client can read.</param>
internal readonly record struct FoundFile(Errno Error, ServedFile? File);
