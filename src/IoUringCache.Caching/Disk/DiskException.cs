using IoUringCache.Ring;

namespace IoUringCache.Caching.Disk;

/// <summary>A file could not be read or written, or holds something else than was written there.</summary>
internal sealed class DiskException(DropReason reason, string message) : IOException(message)
{
    public DropReason Reason => reason;

    public static DiskException Failed(DropReason reason, string path, long offset, int result) => new(
        reason, $"{path} at {offset}: {(result < 0 ? ((Errno)(-result)).ToString() : "the file ends there")}");

    public static DiskException Damaged(string path, long offset, string what) => new(DropReason.Damaged, $"{path} at {offset}: {what}");
}
