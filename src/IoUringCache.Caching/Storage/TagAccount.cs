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
    public long Add(PurgeStamp stamp)
    {
        long bytes = 0;
        foreach (Tag tag in stamp.Tags)
        {
            ref int objects = ref tag.ObjectsIn(keeper);
            if (objects++ == 0)
            {
                bytes += tag.Bytes;
                _count++;
            }
        }

        Volatile.Write(ref _bytes, _bytes + bytes);
        return bytes;
    }

    /// <summary>An object that was added goes.</summary>
    /// <returns>Bytes of the tags that no other object of the keeper has.</returns>
    public long Remove(PurgeStamp stamp)
    {
        long bytes = 0;
        foreach (Tag tag in stamp.Tags)
        {
            ref int objects = ref tag.ObjectsIn(keeper);
            if (--objects == 0)
            {
                bytes += tag.Bytes;
                _count--;
            }
        }

        Volatile.Write(ref _bytes, _bytes - bytes);
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
