namespace IoUringCache.Caching.Storage;

/// <summary>
/// What objects share so that one mark on it purges them all: a tag that their origin gave them, or a prefix of their keys. Any thread, except for
/// <see cref="ObjectsIn"/>; lives as long as an object or a fill refers to it.
/// </summary>
internal sealed class Tag : PurgeMarks
{
    /// <summary>Bytes of a tag besides its characters: the tag, its name, its weak reference and its place in the table, as measured.</summary>
    private const int Overhead = 160;

    private int _objectsInStore;
    private int _objectsOnDisk;

    /// <summary>A tag of an origin.</summary>
    /// <param name="name">The tag's bytes, one character for each.</param>
    public Tag(string name) => Name = name;

    /// <summary>A prefix of keys, in a name space of its own.</summary>
    /// <param name="prefix">With a slash at the end.</param>
    /// <param name="outer">The next shorter prefix, which all objects with this one have too.</param>
    public Tag(string prefix, Tag? outer) => (Name, Outer, IsPrefix) = (prefix, outer, true);

    public string Name { get; }

    public bool IsPrefix { get; }

    /// <summary>Of a prefix the next shorter one, if there is one.</summary>
    public Tag? Outer { get; }

    /// <summary>Memory of the tag, in bytes, however many objects have it.</summary>
    public int Bytes => Overhead + (sizeof(char) * Name.Length);

    /// <summary>How many objects of a keeper have the tag: written under the keeper's lock, read by any thread.</summary>
    public ref int ObjectsIn(TagKeeper keeper) => ref keeper == TagKeeper.Store ? ref _objectsInStore : ref _objectsOnDisk;
}

/// <summary>Goes over the tags of an answer, then over the prefixes of its key, the longest first. Used by one thread, once.</summary>
/// <param name="prefix">The longest of its key, if that has any.</param>
internal ref struct TagWalk(ReadOnlySpan<Tag> tags, Tag? prefix)
{
    private ReadOnlySpan<Tag> _tags = tags;
    private Tag? _prefix = prefix;

    public Tag Current { get; private set; } = null!;

    public readonly TagWalk GetEnumerator() => this;

    public bool MoveNext()
    {
        if (!_tags.IsEmpty)
        {
            Current = _tags[0];
            _tags = _tags[1..];
            return true;
        }

        if (_prefix is null)
        {
            return false;
        }

        (Current, _prefix) = (_prefix, _prefix.Outer);
        return true;
    }
}
