namespace CachingService.Storage;

/// <summary>
/// The tags in use by name, each once. It keeps none of them alive: objects do, and fills that a purge may concern. What nobody uses any
/// more is taken out whenever the table has doubled. Not thread-safe: the epochs call it under their lock.
/// </summary>
internal sealed class TagTable
{
    private const int SmallestLimit = 1024;

    private readonly Dictionary<string, WeakReference<Tag>> _tags = new(StringComparer.Ordinal);
    private int _limit = SmallestLimit;

    public int Count => _tags.Count;

    public Tag Intern(string name)
    {
        if (_tags.TryGetValue(name, out WeakReference<Tag>? known) && known.TryGetTarget(out Tag? tag))
        {
            return tag;
        }

        if (_tags.Count >= _limit)
        {
            TakeOutTheUnused();
        }

        tag = new(name);
        _tags[name] = new(tag);
        return tag;
    }

    private void TakeOutTheUnused()
    {
        foreach ((string name, WeakReference<Tag> tag) in _tags)
        {
            if (!tag.TryGetTarget(out _))
            {
                // The one change that does not end an enumeration.
                _tags.Remove(name);
            }
        }

        _limit = Math.Max(SmallestLimit, 2 * _tags.Count);
    }
}
