namespace IoUringCache.Caching.Storage;

/// <summary>
/// The tags in use by name, each once. It keeps none of them alive: objects do, and fills that a purge may concern. Not thread-safe: the epochs
/// call it under their lock.
/// </summary>
internal sealed class TagTable
{
    /// <summary>Entries that are not worth looking through.</summary>
    private const int SmallCount = 1024;

    private readonly Dictionary<string, WeakReference<Tag>> _tags = new(StringComparer.Ordinal);
    private int _collections;

    public int Count => _tags.Count;

    public Tag Intern(string name)
    {
        if (Find(name) is { } known)
        {
            return known;
        }

        Tag tag = new(name);
        _tags[name] = new(tag);
        return tag;
    }

    /// <summary>The tag of this name, if an object or a fill has it.</summary>
    public Tag? Find(string name) => _tags.TryGetValue(name, out WeakReference<Tag>? known) && known.TryGetTarget(out Tag? tag) ? tag : null;

    /// <summary>
    /// Takes out the tags that are in use no more, if they may be a fifth of the entries or more and the garbage collector has run since
    /// the last time.
    /// </summary>
    /// <param name="inUse">Tags that objects have; there may be fewer.</param>
    public void RemoveUnused(int inUse)
    {
        int collections = GC.CollectionCount(GC.MaxGeneration);
        if (_tags.Count <= SmallCount + inUse + (inUse / 4) || collections == _collections)
        {
            return;
        }

        _collections = collections;
        foreach ((string name, WeakReference<Tag> tag) in _tags)
        {
            if (!tag.TryGetTarget(out _))
            {
                // The one change that does not end an enumeration.
                _tags.Remove(name);
            }
        }

        if (_tags.Count < _tags.Capacity / 4)
        {
            _tags.TrimExcess();
        }
    }
}
