using System.Globalization;
using CachingService.Options;

namespace CachingService.Disk;

/// <summary>
/// The directory of a disk tier: a lock that keeps a second service out, and the segment files at their full length. Owned by the tier.
/// </summary>
internal sealed class DiskFiles : IDisposable
{
    private const string LockName = "lock";
    private const string SegmentPrefix = "segment-";
    private const UnixFileMode ForOwner = UnixFileMode.UserRead | UnixFileMode.UserWrite;

    private readonly FileStream _lock;
    private readonly List<Segment> _segments = [];

    private DiskFiles(FileStream @lock) => _lock = @lock;

    public IReadOnlyList<Segment> Segments => _segments;

    /// <summary>Makes what is missing, and deletes segments above the number.</summary>
    /// <exception cref="OptionException">It cannot be used, by rights, room or another process.</exception>
    public static DiskFiles Open(DiskOptions options)
    {
        DiskFiles files = new(Lock(options.Path));
        try
        {
            CheckRoom(options);
            for (int number = 0; number < options.SegmentCount; number++)
            {
                files._segments.Add(OpenSegment(PathOf(options.Path, number), options.SegmentBytes));
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
        long there = new DirectoryInfo(options.Path).EnumerateFiles(SegmentPrefix + "*").Sum(file => file.Length);
        long missing = ((long)options.SegmentCount * options.SegmentBytes) - there;
        long free = new DriveInfo(options.Path).AvailableFreeSpace;
        if (missing > free)
        {
            throw new IOException($"the disk has {free} bytes left");
        }
    }

    private static string Describe(DiskOptions options) => $"{options.SegmentCount} files of {options.SegmentBytes} bytes in '{options.Path}'";

    private static string PathOf(string directory, int number) =>
        Path.Combine(directory, SegmentPrefix + number.ToString("d5", CultureInfo.InvariantCulture));

    /// <summary>
    /// A file that is too short was cut: it gets its length back, and what is missing reads as zeros, which no checksum takes for anything.
    /// One that is too long is of another size of segments, as its first block says.
    /// </summary>
    private static Segment OpenSegment(string path, int bytes)
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
            return new(path, file.SafeFileHandle, bytes);
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
