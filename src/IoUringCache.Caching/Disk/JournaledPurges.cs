using IoUringCache.Caching.Storage;

namespace IoUringCache.Caching.Disk;

/// <summary>What the purges of an earlier process concern. Filled by who reads the journal at the start, and then only asked.</summary>
internal sealed class JournaledPurges
{
    private readonly Dictionary<(JournalKind Kind, string Name), DiskPlace> _purges = [];
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
            _purges[(purge.Kind, purge.Name)] = purge.Before;
        }
    }

    /// <summary>Whether what was found on the disk was purged.</summary>
    public bool Concern(DiskCopy found)
    {
        DiskPlace place = new(found.Segment!.Sequence, found.Offset);
        if (place.IsBefore(_all))
        {
            return true;
        }

        foreach (Tag tag in found.Stamp.Tags)
        {
            if (_purges.TryGetValue((JournalBlock.KindOf(tag), tag.Name), out DiskPlace before) && place.IsBefore(before))
            {
                return true;
            }
        }

        return false;
    }
}
