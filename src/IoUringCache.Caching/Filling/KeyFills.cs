using IoUringCache.Caching.Http;

namespace IoUringCache.Caching.Filling;

/// <summary>
/// The fills of one key in flight: of each variant that is known to exist, the latest takes readers. Until a response tells by which fields
/// it was chosen there is one variant. A fill with one client's credentials takes none. Guarded by the table's lock; lives as long as it has fills.
/// </summary>
/// <param name="stored">How stored responses of the key differ.</param>
internal sealed class KeyFills(VaryRule stored)
{
    private readonly List<Fill> _all = new();
    private readonly Dictionary<string, Fill> _latest = new(StringComparer.Ordinal);

    /// <summary>By which fields requests are told apart.</summary>
    public VaryRule Vary { get; private set; } = stored;

    /// <summary>Those that have not ended, in the order in which they were started.</summary>
    public IReadOnlyList<Fill> All => _all;

    /// <summary>
    /// The fill that a request may ask to join. One that takes no readers any more stays until it ends or a newer one takes its place.
    /// </summary>
    public Fill? Find(IHeaderDictionary request) => _latest.GetValueOrDefault(Vary.KeyOf(request));

    public void Add(Fill fill)
    {
        _all.Add(fill);
        Index(fill);
    }

    public void Remove(Fill fill)
    {
        string variant = Vary.KeyOf(fill.Request.Fields);
        _all.Remove(fill);
        if (_latest.GetValueOrDefault(variant) == fill)
        {
            _latest.Remove(variant);
        }
    }

    /// <summary>
    /// The headers of a response of this key have come. The latest list counts, except an empty one: an error page without Vary says little
    /// of the object, and would have all variants wait for each other again.
    /// </summary>
    public void Learn(VaryRule vary)
    {
        if (vary.Equals(VaryRule.None) || vary.Equals(Vary))
        {
            return;
        }

        Vary = vary;
        _latest.Clear();
        _all.ForEach(Index);
    }

    private void Index(Fill fill)
    {
        if (fill.Request.Credentials is null)
        {
            _latest[Vary.KeyOf(fill.Request.Fields)] = fill;
        }
    }
}
