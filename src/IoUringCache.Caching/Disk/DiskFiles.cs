using System.Globalization;
using IoUringCache.Caching.Options;
using IoUringCache.Ring;
using IoUringCache.Ring.Files;

namespace IoUringCache.Caching.Disk;

/// <summary>
/// The files of a disk tier: a lock that keeps a second service out, the segments and the journal of purges at their full length. Owned by the
/// tier.
/// </summary>
internal sealed class DiskFiles : IDisposable
{
    private const string LockName = "lock";
    private const string SegmentPrefix = "segment-";
    private const string JournalName = "purges";
    private const string LogPlaceName = "purges-applied";

    private readonly DiskDirectory _directory;
    private readonly List<Segment> _segments = [];
    private DiskFile? _lock;
    private DiskFile? _journal;
    private DiskFile? _logPlace;

    private DiskFiles(DiskDirectory directory) => _directory = directory;

    public IReadOnlyList<Segment> Segments => _segments;

    public DiskFile Journal => _journal!;

    /// <summary>Makes what is missing, and deletes segments above the number.</summary>
    /// <exception cref="OptionException">It cannot be used, by rights, room or another process.</exception>
    public static DiskFiles Open(DiskOptions options)
    {
        DiskFiles files = new(DiskDirectory.Open(options.Path));
        try
        {
            files.Lock(options.Path);
            CheckRoom(options);
            files._journal = files.OpenJournal();
            HashSet<string> own = [];
            for (int number = 0; number < options.SegmentCount; number++)
            {
                string name = NameOf(number);
                own.Add(name);
                files._segments.Add(new(files.OpenFile(name, options.SegmentBytes), options.SegmentBytes));
            }

            foreach (string other in Directory.EnumerateFiles(options.Path, SegmentPrefix + "*").Select(path => Path.GetFileName(path)))
            {
                if (!own.Contains(other))
                {
                    files._directory.Delete(other);
                }
            }

            return files;
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
        {
            files.Dispose();
            throw new OptionException($"Option {DiskOptionCatalog.Bytes.Name}: cannot make {Describe(options)}: {failure.Message}");
        }
        catch
        {
            files.Dispose();
            throw;
        }
    }

    /// <summary>For a node of several; made if it is missing. Once.</summary>
    /// <exception cref="OptionException">The file may belong to another user or program.</exception>
    /// <exception cref="DiskException">The kernel failed.</exception>
    public LogPlaceFile OpenLogPlace() => new(_logPlace = _directory.OpenFile(LogPlaceName));

    public void Dispose()
    {
        _segments.ForEach(segment => segment.Dispose());
        _journal?.Dispose();
        _logPlace?.Dispose();
        if (_lock is not null)
        {
            FileLock.Release(_lock.Handle);
            _lock.Dispose();
        }

        _directory.Dispose();
    }

    private void Lock(string path)
    {
        _lock = _directory.OpenFile(LockName);
        Errno error = FileLock.TryAcquire(_lock.Handle);
        if (error != Errno.None)
        {
            string reason = error == Errno.EAGAIN ? "another service uses it" : $"'{LockName}' in it cannot be locked: flock(2) failed with {error}";
            throw new OptionException($"Option {DiskOptionCatalog.Path.Name}: cannot use '{path}': {reason}.");
        }
    }

    /// <summary>Before anything is allocated: a disk that was full for a moment is full for everybody.</summary>
    private static void CheckRoom(DiskOptions options)
    {
        DirectoryInfo directory = new(options.Path);
        long there = directory.EnumerateFiles(SegmentPrefix + "*").Concat(directory.EnumerateFiles(JournalName)).Sum(file => file.Length);
        long missing = ((long)options.SegmentCount * options.SegmentBytes) + PurgeJournal.Bytes - there;
        long free = new DriveInfo(options.Path).AvailableFreeSpace;
        if (missing > free)
        {
            throw new IOException($"the disk has {free} bytes left");
        }
    }

    private static string Describe(DiskOptions options) => $"{options.SegmentCount} files of {options.SegmentBytes} bytes in '{options.Path}'";

    private static string NameOf(int number) => SegmentPrefix + number.ToString("d5", CultureInfo.InvariantCulture);

    /// <summary>One of another length has lost purges, or its end. Zeros in their place would say that there were none, so it goes.</summary>
    private DiskFile OpenJournal()
    {
        using (DiskFile found = _directory.OpenFile(JournalName))
        {
            if (RandomAccess.GetLength(found.Handle) != PurgeJournal.Bytes)
            {
                found.Delete();
            }
        }

        return OpenFile(JournalName, PurgeJournal.Bytes);
    }

    /// <summary>
    /// A new file is allocated, so that the disk cannot be full later. A segment that is too short was cut: it gets its length back, and what is
    /// missing reads as zeros, which no checksum takes for anything. One that is too long is of another size of segments, as its first block says.
    /// </summary>
    private DiskFile OpenFile(string name, int bytes)
    {
        DiskFile file = _directory.OpenFile(name);
        bool isNew = RandomAccess.GetLength(file.Handle) == 0;
        try
        {
            // Where the file system cannot reserve space, a full disk shows at the first write.
            Errno error = isNew ? FileSpace.TryAllocate(file.Handle, bytes) : Errno.None;
            if (error is Errno.ENOSPC or Errno.EFBIG)
            {
                throw DiskException.Failed(DropReason.WriteFailed, file.Path, 0, -(int)error);
            }

            RandomAccess.SetLength(file.Handle, bytes);
            return file;
        }
        catch
        {
            file.Dispose();
            if (isNew)
            {
                file.Delete();
            }

            throw;
        }
    }
}
