using IoUringCache.Caching.Http;

namespace IoUringCache.Caching.Storage;

/// <summary>
/// All purges of one service, numbered: what a response is good for follows from the number of purges that there had been when the origin
/// was asked for it, its epoch. So a purge writes one mark, whatever is stored, and who looks compares. Any thread; one per service.
/// <para>
/// No purge is missed. Whoever asks the origin takes the epoch first (<see cref="Begin"/>). A purge counts up first, marks second and
/// returns third. What was asked for after it returned has its epoch or a later one, and is not concerned. What was asked for before it
/// counted has an earlier one, and everybody who looks after it returned sees the mark, whether the object was stored before, during or
/// after the purge; so it makes no difference how a purge and a fill that ends meet, and neither waits for the other. What was asked for in
/// between may be what the origin had before or after the event that the purge tells of, which is still being told.
/// </para>
/// </summary>
internal sealed class PurgeEpochs(TimeProvider time)
{
    private readonly Lock _lock = new();
    private readonly TagTable _tags = new();
    private PurgeEvent _latest = new(0, null);
    private long _doubtfulBefore;
    private long _lastOfPrefix;

    /// <summary>Purges of everything.</summary>
    public PurgeMarks All { get; } = new();

    /// <summary>
    /// What has an earlier epoch may have been purged without this process knowing. It is revalidated, and no request joins its fetch; what is
    /// stored stays as it is. 0, the default, is for nothing, and the largest number for everything.
    /// </summary>
    public long DoubtfulBefore
    {
        get => Volatile.Read(ref _doubtfulBefore);
        set => Volatile.Write(ref _doubtfulBefore, value);
    }

    /// <summary>Number of the last purge of a prefix: what has this epoch or a later one need not look at its prefixes. 0 for none yet.</summary>
    public long LastOfPrefix => Volatile.Read(ref _lastOfPrefix);

    /// <summary>Number of purges so far.</summary>
    public long Current => Begin().Epoch;

    /// <summary>Tags and prefixes in use, and some that were.</summary>
    public int TagCount
    {
        get
        {
            lock (_lock)
            {
                return _tags.Count;
            }
        }
    }

    /// <summary>To be taken before the origin is asked, and kept until the answer's tags are known: later purges hang on it.</summary>
    public PurgeEvent Begin() => Volatile.Read(ref _latest);

    /// <summary>The tags of an answer, each the one that all others of its name share.</summary>
    public Tag[] Intern(IReadOnlyCollection<string> names)
    {
        lock (_lock)
        {
            return [.. names.Select(_tags.Intern)];
        }
    }

    /// <summary>The longest prefix of a key, the one that all others with it share; <see langword="null"/> if it has none.</summary>
    public Tag? InternPrefixOf(string key)
    {
        lock (_lock)
        {
            return _tags.InternPrefix(KeyPrefixes.LongestOf(key));
        }
    }

    /// <summary>All that was asked for before this is gone, or stale from now on.</summary>
    public void PurgeAll(bool isSoft)
    {
        lock (_lock)
        {
            All.Set(Count(tag: null), isSoft);
        }
    }

    /// <summary>All with this tag that was asked for before this is gone, or stale from now on. Returns the tag.</summary>
    public Tag PurgeTag(string name, bool isSoft)
    {
        lock (_lock)
        {
            return Mark(_tags.Intern(name), isSoft);
        }
    }

    /// <summary>As <see cref="PurgeTag"/>, for all whose keys have a prefix.</summary>
    /// <param name="prefix">One that <see cref="KeyPrefixes.IsPrefix"/> finds right.</param>
    public Tag PurgePrefix(string prefix, bool isSoft)
    {
        lock (_lock)
        {
            Tag tag = Mark(_tags.InternPrefix(prefix)!, isSoft);
            Volatile.Write(ref _lastOfPrefix, _latest.Epoch);
            return tag;
        }
    }

    /// <summary>
    /// Begins an epoch and marks nothing: for the objects of one key, which the store marks itself, and to tell what comes from what there was.
    /// </summary>
    public PurgeMark CountOne()
    {
        lock (_lock)
        {
            return Count(tag: null);
        }
    }

    /// <summary>Forgets tags that are in use no more, from time to time.</summary>
    /// <param name="inUse">Tags that objects have; there may be fewer.</param>
    public void RemoveUnusedTags(int inUse)
    {
        lock (_lock)
        {
            _tags.RemoveUnused(inUse);
        }
    }

    private Tag Mark(Tag tag, bool isSoft)
    {
        tag.Set(Count(tag), isSoft);
        return tag;
    }

    private PurgeMark Count(Tag? tag)
    {
        PurgeEvent next = new(_latest.Epoch + 1, tag);
        _latest.Next = next;
        Volatile.Write(ref _latest, next);
        return new(next.Epoch, time.GetTimestamp());
    }
}
