namespace IoUringCache.Caching.Storage;

/// <summary>
/// The tags and prefixes of all objects of one keeper, each counted once however many objects have it. Written under the keeper's lock; read by any thread.
/// </summary>
internal sealed class TagAccount(TagKeeper keeper)
{
    private long _bytes;
    private int _count;

    /// <summary>Memory of the tags, in bytes.</summary>
    public long Bytes => Volatile.Read(ref _bytes);

    /// <summary>Number of different tags.</summary>
    public int Count => Volatile.Read(ref _count);

    /// <returns>Bytes of the tags that no other object of the keeper has.</returns>
    public long Add(PurgeStamp stamp) => Change(stamp, 1);

    /// <summary>An object that was added goes.</summary>
    /// <returns>Bytes of the tags that no other object of the keeper has.</returns>
    public long Remove(PurgeStamp stamp) => Change(stamp, -1);

    private long Change(PurgeStamp stamp, int by)
    {
        long bytes = 0;
        foreach (Tag tag in stamp.Tags)
        {
            ref int objects = ref tag.ObjectsIn(keeper);
            int before = objects;
            objects += by;
            if (before == 0 || objects == 0)
            {
                bytes += tag.Bytes;
                _count += by;
            }
        }

        Volatile.Write(ref _bytes, _bytes + (by * bytes));
        return bytes;
    }
}

/// <summary>Which collection of objects holds tags; each counts its own objects under its own lock.</summary>
internal enum TagKeeper
{
    /// <summary>The objects in memory.</summary>
    Store,

    /// <summary>The index of the disk tier.</summary>
    Disk,
}
