namespace IoUringCache.Caching.Storage;

/// <summary>What only readers keep in memory. Any thread.</summary>
internal interface IPinned
{
    /// <summary>Bytes that are free when the last reader has left.</summary>
    long Weight { get; }

    /// <summary>Every reader that has not been cut, at this moment.</summary>
    List<PinnedReader> GetReaders();

    /// <summary>Ends a reader's answer visibly; false if it has left, or was cut before.</summary>
    bool TryCut(ReaderLink reader);
}
