namespace IoUringCache.Caching.Filling;

/// <summary>
/// Something remembered of each of a bounded number of keys: of too many, the latest. Any thread.
/// <para>
/// A key is its hash of 32 bits, which the runtime seeds anew for each process, so that no client can aim at a collision. Keys with the
/// same hash share what is remembered: it must never decide more than how the origin is asked.
/// </para>
/// </summary>
/// <param name="limit">As it is at the moment.</param>
internal sealed class KeyMemory<T>(Func<int> limit)
    where T : class
{
    private readonly Lock _lock = new();
    private Dictionary<int, T> _entries = [];

    /// <summary>Every entry in order of its time, and some that are gone or replaced: together no more than the limit.</summary>
    private Queue<(int Hash, T Entry)> _order = new();

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

    /// <summary>Remembers this of a key from now on, in the place of what was known of it.</summary>
    /// <param name="entry">An object of its own: it is told apart by its reference.</param>
    public void Set(string key, T entry)
    {
        int hash = key.GetHashCode();
        lock (_lock)
        {
            _entries[hash] = entry;
            _order.Enqueue((hash, entry));
            for (int most = limit(); _order.Count > most;)
            {
                (int oldest, T old) = _order.Dequeue();
                Remove(oldest, old);
            }
        }
    }

    /// <summary>What is remembered of a key, if anything.</summary>
    public T? Find(string key)
    {
        lock (_lock)
        {
            return _entries.GetValueOrDefault(key.GetHashCode());
        }
    }

    public void Drop(string key)
    {
        lock (_lock)
        {
            _entries.Remove(key.GetHashCode());
        }
    }

    /// <summary>Forgets this of a key, unless something else has taken its place.</summary>
    public void Drop(string key, T entry)
    {
        lock (_lock)
        {
            Remove(key.GetHashCode(), entry);
        }
    }

    /// <summary>Forgets all keys, in a time that does not depend on their number.</summary>
    public void Clear()
    {
        lock (_lock)
        {
            (_entries, _order) = ([], new());
        }
    }

    private void Remove(int hash, T entry)
    {
        if (_entries.TryGetValue(hash, out T? latest) && ReferenceEquals(latest, entry))
        {
            _entries.Remove(hash);
        }
    }
}
