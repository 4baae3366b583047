using IoUringCache.Caching.Storage;

namespace IoUringCache.Caching.Disk;

/// <summary>
/// Copies by the hash of their key, in memory alone. Keys are compared when the header is read, so that an object costs about a hundred
/// bytes here however long its key is, and its tags besides. Guarded by the tier's lock; count and tags are for any thread.
/// </summary>
internal sealed class DiskIndex
{
    private readonly Dictionary<int, DiskCopy> _latest = [];
    private long _listBytes;
    private int _count;

    public int Count => Volatile.Read(ref _count);

    public TagAccount Tags { get; } = new(TagKeeper.Disk);

    /// <summary>Memory of the tags and of the copies' lists of them, in bytes.</summary>
    public long TagBytes => Tags.Bytes + _listBytes;

    public static int HashOf(string text) => text.GetHashCode(StringComparison.Ordinal);

    public void Add(DiskCopy copy)
    {
        copy.Next = _latest.GetValueOrDefault(copy.KeyHash);
        _latest[copy.KeyHash] = copy;
        Tags.Add(copy.Stamp);
        _listBytes += copy.Stamp.ListBytes;
        _count++;
    }

    /// <summary>Takes out one that is there.</summary>
    public void Remove(DiskCopy copy)
    {
        DiskCopy first = _latest[copy.KeyHash];
        if (first != copy)
        {
            while (first.Next != copy)
            {
                first = first.Next!;
            }

            first.Next = copy.Next;
        }
        else if (copy.Next is { } next)
        {
            _latest[copy.KeyHash] = next;
        }
        else
        {
            _latest.Remove(copy.KeyHash);
        }

        Tags.Remove(copy.Stamp);
        _listBytes -= copy.Stamp.ListBytes;
        _count--;
    }

    /// <summary>All of a hash, the latest first. A list of its own: what is found may be removed.</summary>
    public List<DiskCopy> Find(int keyHash)
    {
        List<DiskCopy> found = [];
        for (DiskCopy? copy = _latest.GetValueOrDefault(keyHash); copy is not null; copy = copy.Next)
        {
            found.Add(copy);
        }

        return found;
    }
}
