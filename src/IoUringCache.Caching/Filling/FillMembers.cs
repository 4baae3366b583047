using IoUringCache.Caching.Storage;

namespace IoUringCache.Caching.Filling;

/// <summary>The requests that a fill serves. Guarded by the fill's lock, except their number.</summary>
internal sealed class FillMembers
{
    private readonly HashSet<FillMember> _all = [];
    private int _count;

    public int Count => Volatile.Read(ref _count);

    public bool HasLeader => _all.Any(member => member.Role == ReaderRole.Leader);

    /// <summary>Whether any wants more of the body.</summary>
    public bool HasReaders => Readers.Any();

    /// <summary>How far the first reader is, in bytes of the body's memory; 0 without any.</summary>
    public long Fastest => Readers.Select(member => member.Position).DefaultIfEmpty().Max();

    /// <summary>How far the last reader is; <see langword="null"/> without any.</summary>
    public long? Slowest => Readers.Min(member => (long?)member.Position);

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
    public List<FillMember> Before(long position) => [.. Readers.Where(member => member.Position < position)];

    private IEnumerable<FillMember> Readers => _all.Where(static member => !member.IsDone);
}
