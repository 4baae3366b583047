namespace IoUringCache.Caching.Storage;

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
