namespace IoUringCache.Eviction;

/// <summary>An order of eviction. One thread.</summary>
internal interface IEvictionOrder
{
    void Add(Entry entry);

    void Hit(Entry entry);

    /// <summary>Takes out the next victim. Called only when there is one.</summary>
    Entry TakeVictim();
}
