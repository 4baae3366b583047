using IoUringCache.Caching.Http;
using IoUringCache.Caching.Options;
using IoUringCache.Caching.Origins;

namespace IoUringCache.Caching.Filling;

/// <summary>
/// Keys whose next answer is most likely of no use to others (hit-for-miss): requests for them go to the origin at once and alone, until
/// an answer shows otherwise, the key is invalidated, or the time is over. Any thread; one per service; looked at on a miss only.
/// </summary>
internal sealed class KeyMarkers(LiveOptions options, TimeProvider time)
{
    /// <summary>Marker of a key whose last answer was for one client alone: to wait for the next would only put clients in a row.</summary>
    public const string HitForMiss = "hit-for-miss";

    /// <summary>
    /// Marker of a key whose last answer was larger than what is kept: nobody could join late, and alone a client can have the origin cut
    /// its range, and needs no window in memory.
    /// </summary>
    public const string TooLarge = "too-large";

    private readonly KeyMemory<Entry> _entries = new(() => options.Now.MaxMarkers);
    private long _found;

    /// <summary>Keys remembered; one whose time is over counts until somebody asks for it or it makes room.</summary>
    public int Count => _entries.Count;

    /// <summary>Requests that have gone to the origin because of a marker.</summary>
    public long Found => Volatile.Read(ref _found);

    /// <summary>Remembers a key from now on, in the place of what was known of it.</summary>
    /// <param name="key">Raw bytes after <c>/object/</c>.</param>
    /// <param name="marker">Why; the Cache-Status detail of the passes that follow.</param>
    public void Set(string key, string marker)
    {
        if (options.Now.HitForMissTtl > TimeSpan.Zero)
        {
            _entries.Set(key, new(marker, time.GetTimestamp()));
        }
    }

    /// <summary>The marker of a key whose time is not over, or <see langword="null"/>. It counts as found.</summary>
    public string? Find(string key)
    {
        string? marker = Look(key);
        if (marker is not null)
        {
            Interlocked.Increment(ref _found);
        }

        return marker;
    }

    /// <summary>The same for whoever only wants to know.</summary>
    public string? Look(string key)
    {
        Entry? entry = _entries.Find(key);
        if (entry is not null && time.GetElapsedTime(entry.Since) >= options.Now.HitForMissTtl)
        {
            _entries.Drop(key, entry);
            return null;
        }

        return entry?.Marker;
    }

    /// <summary>Forgets a key: its next answer may be shared.</summary>
    public void Drop(string key) => _entries.Drop(key);

    /// <summary>Forgets all keys, in a time that does not depend on their number.</summary>
    public void DropAll() => _entries.Clear();

    /// <summary>What the answer to a request that went alone, and to nobody else, tells of its key.</summary>
    /// <param name="reason">Why it went alone, as a Cache-Status detail.</param>
    /// <param name="response">To a plain GET.</param>
    public void Review(ObjectAddress address, string reason, OriginResponse response)
    {
        FreshnessPolicy freshness = address.Policy.Freshness;
        switch (reason)
        {
            case HitForMiss or TooLarge when MayFit(response.Head, reason) && CanStore(response, freshness):
                Drop(address.Key);
                break;
            case SharingRules.ClientError when response.Head.StatusCode is < 400 and var status && StatusRules.IsWholeAnswer(status) && !CanStore(response, freshness):
                // Without all of the client's fields the answer is an error, and with them it is of no use to others.
                Set(address.Key, HitForMiss);
                break;
        }
    }

    private bool MayFit(ResponseHead head, string marker) =>
        head.ContentLength is { } length ? length <= options.Now.MaxObjectBytes : marker != TooLarge;

    private static bool CanStore(OriginResponse response, FreshnessPolicy freshness) =>
        StatusRules.IsWholeAnswer(response.Head.StatusCode) && response.Judge(freshness).CanStore;

    private sealed record Entry(string Marker, long Since);
}
