using System.Globalization;
using CachingService.Options;

namespace CachingService.Disk;

/// <summary>
/// The directory of a disk tier: a lock that keeps a second service out, the segment files and the journal of purges at their full length.
/// Owned by the tier.
/// </summary>
internal sealed class DiskFiles : IDisposable
{
    private const string LockName = "lock";
    private const string SegmentPrefix = "segment-";
    private const string JournalName = "purges";
    private const UnixFileMode ForOwner = UnixFileMode.UserRead | UnixFileMode.UserWrite;

    private readonly FileStream _lock;
    private readonly List<Segment> _segments = [];
    private DiskFile? _journal;

    private DiskFiles(FileStream @lock) => _lock = @lock;

    public IReadOnlyList<Segment> Segments => _segments;

    public DiskFile Journal => _journal!;

    /// <summary>Makes what is missing, and deletes segments above the number.</summary>
    /// <exception cref="OptionException">It cannot be used, by rights, room or another process.</exception>
    public static DiskFiles Open(DiskOptions options)
    {
        DiskFiles files = new(Lock(options.Path));
        try
        {
            CheckRoom(options);
            files._journal = OpenJournal(Path.Combine(options.Path, JournalName));
            for (int number = 0; number < options.SegmentCount; number++)
            {
                files._segments.Add(new(OpenFile(PathOf(options.Path, number), options.SegmentBytes), options.SegmentBytes));
            }

            HashSet<string> own = [.. files._segments.Select(segment => segment.Path)];
            foreach (string other in Directory.EnumerateFiles(options.Path, SegmentPrefix + "*").Where(path => !own.Contains(path)))
            {
                File.Delete(other);
            }

            return files;
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
        {
            files.Dispose();
            throw new OptionException($"Option {OptionCatalog.DiskBytes.Name}: cannot make {Describe(options)}: {failure.Message}");
        }
    }

    public void Dispose()
    {
        _segments.ForEach(segment => segment.Dispose());
        _journal?.Dispose();
        _lock.Dispose();
    }

    private static FileStream Lock(string path)
    {
        try
        {
            Directory.CreateDirectory(path, ForOwner | UnixFileMode.UserExecute);
            return new(Path.Combine(path, LockName), new FileStreamOptions
            {
                Mode = FileMode.OpenOrCreate,
                Access = FileAccess.ReadWrite,
                Share = FileShare.None,
                UnixCreateMode = ForOwner,
            });
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
        {
            // In use by another service, no directory, not allowed: the message says which.
            throw new OptionException($"Option {OptionCatalog.DiskPath.Name}: cannot use '{path}': {failure.Message}");
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

    private static string PathOf(string directory, int number) =>
        Path.Combine(directory, SegmentPrefix + number.ToString("d5", CultureInfo.InvariantCulture));

    /// <summary>One of another length has lost purges, or its end. Zeros in their place would say that there were none, so it goes.</summary>
    private static DiskFile OpenJournal(string path)
    {
        if (File.Exists(path) && new FileInfo(path).Length != PurgeJournal.Bytes)
        {
            File.Delete(path);
        }

        return OpenFile(path, PurgeJournal.Bytes);
    }

    /// <summary>
    /// A segment that is too short was cut: it gets its length back, and what is missing reads as zeros, which no checksum takes for anything.
    /// One that is too long is of another size of segments, as its first block says.
    /// </summary>
    private static DiskFile OpenFile(string path, int bytes)
    {
        bool isNew = !File.Exists(path);
        FileStream file = new(path, new FileStreamOptions
        {
            Mode = isNew ? FileMode.CreateNew : FileMode.Open,
            Access = FileAccess.ReadWrite,
            Share = FileShare.ReadWrite,
            BufferSize = 0,
            UnixCreateMode = isNew ? ForOwner : null,

            // So that the disk cannot be full later.
            PreallocationSize = isNew ? bytes : 0,
        });
        try
        {
            file.SetLength(bytes);
            return new(path, file.SafeFileHandle);
        }
        catch
        {
            file.Dispose();
            if (isNew)
            {
                File.Delete(path);
            }

            throw;
        }
    }
}
