namespace IoUringCache.Caching.Disk;

/// <summary>
/// The copies in the present use of one segment, by their places. A place outlives its copy, so that a walk over all places misses none; but the
/// copy's memory, and that of its tags, which are not counted any more, goes. Guarded by the tier's lock.
/// </summary>
internal sealed class SegmentCopies
{
    private readonly List<DiskCopy?> _places = [];

    public int PlaceCount => _places.Count;

    /// <summary>Those that have not gone. A list of its own: what is in it may be removed.</summary>
    public List<DiskCopy> All => In(0, _places.Count);

    /// <summary>As <see cref="All"/>, of some places.</summary>
    public List<DiskCopy> In(int from, int most) => [.. _places.Skip(from).Take(most).OfType<DiskCopy>()];

    public void Add(DiskCopy copy)
    {
        copy.Number = _places.Count;
        _places.Add(copy);
    }

    /// <summary>One that is there.</summary>
    public void Remove(DiskCopy copy) => _places[copy.Number] = null;

    /// <summary>The segment is used again.</summary>
    public void Clear() => _places.Clear();
}
