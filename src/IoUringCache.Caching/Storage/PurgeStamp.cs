namespace IoUringCache.Caching.Storage;

/// <summary>
/// When the origin was asked for a response, counted in purges, and the tags of the response and the prefixes of its key: what tells
/// whether a purge concerns it. Where nobody has purged anything since, which is as a rule, one comparison. Immutable; any thread. The
/// default is of no service, and nothing concerns it.
/// </summary>
internal readonly struct PurgeStamp(PurgeEpochs epochs, long epoch, Tag? prefix, Tag[]? tags)
{
    /// <summary>Bytes of an array without its elements, which have 8 bytes each.</summary>
    private const int ListOverhead = 24;

    private readonly PurgeEpochs? _epochs = epochs;
    private readonly long _epoch = epoch;
    private readonly Tag[]? _tags = tags;

    /// <summary>The longest of the key; it has the others.</summary>
    private readonly Tag? _prefix = prefix;

    /// <summary>What an answer is to be judged by from now on.</summary>
    /// <param name="begun">Taken before the origin was asked for it.</param>
    /// <param name="prefix">The longest of its key, if that has any.</param>
    public static PurgeStamp Of(PurgeEpochs epochs, PurgeEvent begun, IReadOnlyCollection<string> tags, Tag? prefix = null)
    {
        PurgeStamp stamp = new(epochs, begun.Epoch, prefix, tags.Count > 0 ? epochs.Intern(tags) : null);

        // Its chain has kept the marks of all tags that were purged meanwhile, whether anybody else used them or not.
        GC.KeepAlive(begun);
        return stamp;
    }

    public long Epoch => _epoch;

    /// <summary>The tags of the answer, and after them the prefixes of its key.</summary>
    public TagWalk Tags => new(_tags, _prefix);

    public IEnumerable<string> TagNames => (_tags ?? []).Select(tag => tag.Name);

    public bool Has(Tag tag)
    {
        foreach (Tag own in Tags)
        {
            if (own == tag)
            {
                return true;
            }
        }

        return false;
    }

    /// <summary>Memory of the list of tags, in bytes. It is this response's alone, unlike the tags.</summary>
    public int ListBytes => _tags is null ? 0 : ListOverhead + (sizeof(long) * _tags.Length);

    /// <summary>Memory of all its tags and prefixes, in bytes, those of other objects included.</summary>
    public long TagBytes
    {
        get
        {
            long bytes = 0;
            foreach (Tag tag in Tags)
            {
                bytes += tag.Bytes;
            }

            return bytes;
        }
    }

    /// <summary>It may have been purged without this process knowing.</summary>
    public bool IsInDoubt => _epochs is not null && _epoch < _epochs.DoubtfulBefore;

    /// <summary>Purged hard.</summary>
    public bool IsGone
    {
        get
        {
            if (!MayBeConcerned)
            {
                return false;
            }

            if (_epochs!.All.AreHardFor(_epoch))
            {
                return true;
            }

            foreach (Tag tag in Purgeable)
            {
                if (tag.AreHardFor(_epoch))
                {
                    return true;
                }
            }

            return false;
        }
    }

    /// <summary>The purge since which it is stale; <see langword="null"/> if it was not purged softly.</summary>
    public PurgeMark? SoftPurge
    {
        get
        {
            if (!MayBeConcerned)
            {
                return null;
            }

            PurgeMark? last = _epochs!.All.SoftFor(_epoch);
            foreach (Tag tag in Purgeable)
            {
                last = Later(last, tag.SoftFor(_epoch));
            }

            return last;
        }
    }

    /// <summary>Whether any purge has concerned it: what was asked for so long ago is not to be stored.</summary>
    public bool IsPurged => IsGone || SoftPurge is not null;

    private bool MayBeConcerned => _epochs is not null && _epochs.Current != _epoch;

    /// <summary>Those of its tags and prefixes that may have been purged since; asked only where any purge may concern it.</summary>
    private TagWalk Purgeable => new(_tags, _epoch < _epochs!.LastOfPrefix ? _prefix : null);

    /// <summary>Of two purges the last one, where there are any.</summary>
    public static PurgeMark? Later(PurgeMark? one, PurgeMark? other) => one is null || other?.Epoch > one.Epoch ? other : one;
}
