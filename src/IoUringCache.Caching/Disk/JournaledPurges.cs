namespace IoUringCache.Caching.Disk;

/// <summary>What the purges of an earlier process concern. Filled by who reads the journal at the start, and then only asked.</summary>
internal sealed class JournaledPurges
{
    private readonly Dictionary<string, DiskPlace> _tags = new(StringComparer.Ordinal);
    private DiskPlace _all;

    /// <summary>In the order of the journal: of two purges of the same the later one reaches further.</summary>
    public void Add(JournalBlock purge)
    {
        if (purge.Kind == JournalKind.All)
        {
            _all = purge.Before;
        }
        else
        {
            _tags[purge.Tag] = purge.Before;
        }
    }

    /// <summary>Whether what was found on the disk was purged.</summary>
    public bool Concern(DiskCopy found)
    {
        DiskPlace place = new(found.Segment!.Sequence, found.Offset);
        return place.IsBefore(_all) || found.Stamp.TagNames.Any(tag => _tags.TryGetValue(tag, out DiskPlace before) && place.IsBefore(before));
    }
}
