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

    /// <summary>Between two looks whether another process has let go of the directory.</summary>
    private static readonly TimeSpan s_lookAgainAfter = TimeSpan.FromMilliseconds(10);

    private readonly DiskOptions _options;
    private readonly DiskDirectory _directory;
    private readonly List<Segment> _segments = [];
    private DiskFile? _lock;
    private DiskFile? _journal;
    private DiskFile? _logPlace;

    /// <summary>Opens the directory, and makes it if it is missing. What is in it stays as it is.</summary>
    /// <exception cref="OptionException">There can be none, it is not this process's own, or has not the room.</exception>
    public DiskFiles(DiskOptions options)
    {
        (_options, _directory) = (options, DiskDirectory.Open(options.Path));
        try
        {
            CheckRoom();
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
        {
            _directory.Dispose();
            throw Refuse(failure);
        }
    }

    /// <summary>None before <see cref="OpenAsync"/>.</summary>
    public IReadOnlyList<Segment> Segments => _segments;

    public DiskFile Journal => _journal!;

    /// <summary>Takes the lock, makes what is missing, and deletes segments above the number. Once.</summary>
    /// <param name="onWait">
    /// Called if another process has the lock, which is then waited for; with <see langword="null"/> that is an error.
    /// </param>
    /// <exception cref="OptionException">They cannot be used, by rights, room or another process.</exception>
    public async Task OpenAsync(Action? onWait, CancellationToken cancellationToken)
    {
        try
        {
            await LockAsync(onWait, cancellationToken);
            _journal = OpenJournal();
            HashSet<string> own = [];
            for (int number = 0; number < _options.SegmentCount; number++)
            {
                string name = NameOf(number);
                own.Add(name);
                _segments.Add(new(OpenFile(name, _options.SegmentBytes), _options.SegmentBytes));
            }

            foreach (string other in Directory.EnumerateFiles(_options.Path, SegmentPrefix + "*").Select(path => Path.GetFileName(path)))
            {
                if (!own.Contains(other))
                {
                    _directory.Delete(other);
                }
            }
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
        {
            throw Refuse(failure);
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

    private async Task LockAsync(Action? onWait, CancellationToken cancellationToken)
    {
        _lock = _directory.OpenFile(LockName);
        Errno error = FileLock.TryAcquire(_lock.Handle);
        if (error == Errno.EAGAIN && onWait is not null)
        {
            onWait();
            while (error == Errno.EAGAIN)
            {
                await Task.Delay(s_lookAgainAfter, cancellationToken);
                error = FileLock.TryAcquire(_lock.Handle);
            }
        }

        if (error != Errno.None)
        {
            string reason = error == Errno.EAGAIN ? "another service uses it" : $"'{LockName}' in it cannot be locked: flock(2) failed with {error}";
            throw new OptionException($"Option {DiskOptionCatalog.Path.Name}: cannot use '{_options.Path}': {reason}.");
        }
    }

    /// <summary>Before anything is allocated: a disk that was full for a moment is full for everybody.</summary>
    private void CheckRoom()
    {
        DirectoryInfo directory = new(_options.Path);
        long there = directory.EnumerateFiles(SegmentPrefix + "*").Concat(directory.EnumerateFiles(JournalName)).Sum(file => file.Length);
        long missing = ((long)_options.SegmentCount * _options.SegmentBytes) + DiskLayout.JournalBytes - there;
        long free = new DriveInfo(_options.Path).AvailableFreeSpace;
        if (missing > free)
        {
            throw new IOException($"the disk has {free} bytes left");
        }
    }

    private OptionException Refuse(Exception failure) => new(
        $"Option {DiskOptionCatalog.Bytes.Name}: cannot make {_options.SegmentCount} files of {_options.SegmentBytes} bytes in '{_options.Path}': {failure.Message}");

    private static string NameOf(int number) => SegmentPrefix + number.ToString("d5", CultureInfo.InvariantCulture);

    /// <summary>One of another length has lost purges, or its end. Zeros in their place would say that there were none, so it goes.</summary>
    private DiskFile OpenJournal()
    {
        using (DiskFile found = _directory.OpenFile(JournalName))
        {
            if (RandomAccess.GetLength(found.Handle) != DiskLayout.JournalBytes)
            {
                found.Delete();
            }
        }

        return OpenFile(JournalName, DiskLayout.JournalBytes);
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
