using IoUringCache.Caching.Storage;

namespace IoUringCache.Caching.Filling;

/// <summary>The requests that a fill serves. Guarded by the fill's lock, except their number.</summary>
internal sealed class FillMembers
{
    private readonly HashSet<FillMember> _all = [];
    private int _count;

    public int Count => Volatile.Read(ref _count);

    public bool HasLeader => _all.Any(member => member.Role == ReaderRole.Leader);

    /// <summary>How far the first reader is, in bytes of the body's memory; 0 without any.</summary>
    public long Fastest => _all.Select(member => member.Position).DefaultIfEmpty().Max();

    /// <summary>How far the last reader is; <see langword="null"/> without any.</summary>
    public long? Slowest => _all.Min(member => (long?)member.Position);

    /// <summary>Adds one, and gives it its place at the start of a body that comes already.</summary>
    public void Add(FillMember member, CachedObject? received, Action progressed)
    {
        if (received is not null)
        {
            member.Attach(received, progressed);
        }

        _all.Add(member);
        Volatile.Write(ref _count, _all.Count);
    }

    /// <summary>False if it has gone before.</summary>
    public bool Remove(FillMember member)
    {
        bool isThere = _all.Remove(member);
        Volatile.Write(ref _count, _all.Count);
        return isThere;
    }

    /// <summary>Gives each its place at the start of a body.</summary>
    public void Attach(CachedObject received, Action progressed)
    {
        foreach (FillMember member in _all)
        {
            member.Attach(received, progressed);
        }
    }

    /// <summary>Those whose place lies before a position.</summary>
    public List<FillMember> Before(long position) => [.. _all.Where(member => member.Position < position)];
}
