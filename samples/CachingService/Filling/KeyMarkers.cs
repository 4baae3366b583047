using CachingService.Http;
using CachingService.Options;
using CachingService.Origins;

namespace CachingService.Filling;

/// <summary>
/// Keys whose next answer is most likely of no use to others (hit-for-miss): requests for them go to the origin at once and alone, until
/// an answer shows otherwise, the key is invalidated, or the time is over. Bounded: of too many, the latest are remembered. Any thread;
/// one per service; looked at on a miss only.
/// <para>
/// A key is remembered as its hash of 32 bits, which the runtime seeds anew for each process, so that nobody outside can aim at a
/// collision. Keys with the same hash share a marker: that costs requests at the origin, and never a wrong answer.
/// </para>
/// </summary>
internal sealed class KeyMarkers(CacheOptions options, TimeProvider time)
{
    /// <summary>Marker of a key whose last answer was for one client alone: to wait for the next would only put clients in a row.</summary>
    public const string HitForMiss = "hit-for-miss";

    /// <summary>
    /// Marker of a key whose last answer was larger than what is kept: nobody could join late, and alone a client can have the origin cut
    /// its range, and needs no window in memory.
    /// </summary>
    public const string TooLarge = "too-large";

    private readonly Lock _lock = new();
    private Dictionary<int, Entry> _entries = [];

    /// <summary>Every entry in order of its time, and some that are gone or replaced: together no more than the limit.</summary>
    private Queue<(int Hash, Entry Entry)> _order = new();
    private long _found;

    /// <summary>Keys remembered; one whose time is over counts until somebody asks for it or it makes room.</summary>
    public int Count
    {
        get
        {
            lock (_lock)
            {
                return _entries.Count;
            }
        }
    }

    /// <summary>Requests that have gone to the origin because of a marker.</summary>
    public long Found => Volatile.Read(ref _found);

    /// <summary>Remembers a key from now on, in the place of what was known of it.</summary>
    /// <param name="key">Raw bytes after <c>/object/</c>.</param>
    /// <param name="marker">Why; the Cache-Status detail of the passes that follow.</param>
    public void Set(string key, string marker)
    {
        if (options.HitForMissTtl == TimeSpan.Zero)
        {
            return;
        }

        Entry entry = new(marker, time.GetTimestamp());
        int hash = key.GetHashCode();
        lock (_lock)
        {
            _entries[hash] = entry;
            _order.Enqueue((hash, entry));
            while (_order.Count > options.MaxMarkers)
            {
                (int oldest, Entry old) = _order.Dequeue();
                if (_entries.TryGetValue(oldest, out Entry? latest) && ReferenceEquals(latest, old))
                {
                    _entries.Remove(oldest);
                }
            }
        }
    }

    /// <summary>The marker of a key whose time is not over, or <see langword="null"/>. It counts as found.</summary>
    public string? Find(string key)
    {
        lock (_lock)
        {
            string? marker = Look(key);
            _found += marker is null ? 0 : 1;
            return marker;
        }
    }

    /// <summary>The same for whoever only wants to know.</summary>
    public string? Look(string key)
    {
        int hash = key.GetHashCode();
        lock (_lock)
        {
            if (!_entries.TryGetValue(hash, out Entry? entry))
            {
                return null;
            }

            if (time.GetElapsedTime(entry.Since) >= options.HitForMissTtl)
            {
                _entries.Remove(hash);
                return null;
            }

            return entry.Marker;
        }
    }

    /// <summary>Forgets a key: its next answer may be shared.</summary>
    public void Drop(string key)
    {
        lock (_lock)
        {
            _entries.Remove(key.GetHashCode());
        }
    }

    /// <summary>Forgets all keys, in a time that does not depend on their number.</summary>
    public void DropAll()
    {
        lock (_lock)
        {
            (_entries, _order) = ([], new());
        }
    }

    /// <summary>Forgets a key whose marked request has got an answer that others could have had, and could have again.</summary>
    public void Review(string key, string marker, OriginResponse response)
    {
        ResponseHead head = response.Head;
        bool mayFit = head.ContentLength is { } length ? length <= options.MaxObjectBytes : marker != TooLarge;
        if (mayFit && StatusRules.IsWholeAnswer(head.StatusCode) && SharingRules.Judge(head, response.Receipt, options).CanStore)
        {
            Drop(key);
        }
    }

    private sealed record Entry(string Marker, long Since);
}
