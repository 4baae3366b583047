namespace IoUringCache.Caching.Storage;

/// <summary>What the eviction queue must know of an entry. All but <see cref="Reads"/> is guarded by the lock of the queue's owner.</summary>
/// <typeparam name="T">The entry itself.</typeparam>
internal interface IEvictable<T>
{
    /// <summary>Most that <see cref="Reads"/> counts to: who was read three times is popular.</summary>
    const int MostReads = 3;

    /// <summary>What it costs, in bytes. Does not change while it is in the queue.</summary>
    long Weight { get; }

    /// <summary>Of its key, seeded per process. Two keys with the same one cost a guess, nothing more.</summary>
    int KeyHash { get; }

    /// <summary>Reads since it was last passed over, at most <see cref="MostReads"/>. Any thread; a lost update does no harm.</summary>
    int Reads { get; set; }

    /// <summary>The queue's own mark; <see langword="null"/> outside.</summary>
    LinkedListNode<T>? Place { get; set; }
}
