using IoUringCache.Caching.Http;

namespace IoUringCache.Caching.Storage;

/// <summary>
/// The tags in use by name, and the prefixes of keys, each once. It keeps none of them alive: objects do, and fills that a purge may concern. Not
/// thread-safe: the epochs call it under their lock.
/// </summary>
internal sealed class TagTable
{
    /// <summary>Entries that are not worth looking through.</summary>
    private const int SmallCount = 1024;

    private readonly Dictionary<string, WeakReference<Tag>> _tags = new(StringComparer.Ordinal);
    private readonly Dictionary<string, WeakReference<Tag>> _prefixes = new(StringComparer.Ordinal);
    private int _collections;

    public int Count => _tags.Count + _prefixes.Count;

    public Tag Intern(string name)
    {
        if (_tags.TryGetValue(name, out WeakReference<Tag>? known) && known.TryGetTarget(out Tag? tag))
        {
            return tag;
        }

        tag = new(name);
        _tags[name] = new(tag);
        return tag;
    }

    /// <summary>A prefix, and with it all shorter ones; mostly one look-up. <see langword="null"/> for the empty one.</summary>
    public Tag? InternPrefix(ReadOnlySpan<char> prefix)
    {
        if (prefix.IsEmpty)
        {
            return null;
        }

        if (_prefixes.GetAlternateLookup<ReadOnlySpan<char>>().TryGetValue(prefix, out WeakReference<Tag>? known) && known.TryGetTarget(out Tag? tag))
        {
            return tag;
        }

        tag = new(prefix.ToString(), InternPrefix(KeyPrefixes.OuterOf(prefix)));
        _prefixes[tag.Name] = new(tag);
        return tag;
    }

    /// <summary>
    /// Takes out the tags that are in use no more, if they may be a fifth of the entries or more and the garbage collector has run since
    /// the last time.
    /// </summary>
    /// <param name="inUse">Tags that objects have; there may be fewer.</param>
    public void RemoveUnused(int inUse)
    {
        int collections = GC.CollectionCount(GC.MaxGeneration);
        if (Count <= SmallCount + inUse + (inUse / 4) || collections == _collections)
        {
            return;
        }

        _collections = collections;
        RemoveUnused(_tags);
        RemoveUnused(_prefixes);
    }

    private static void RemoveUnused(Dictionary<string, WeakReference<Tag>> table)
    {
        foreach ((string name, WeakReference<Tag> tag) in table)
        {
            if (!tag.TryGetTarget(out _))
            {
                // The one change that does not end an enumeration.
                table.Remove(name);
            }
        }

        if (table.Count < table.Capacity / 4)
        {
            table.TrimExcess();
        }
    }
}
