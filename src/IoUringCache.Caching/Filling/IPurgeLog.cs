namespace IoUringCache.Caching.Filling;

/// <summary>A log that takes the purges of this cache to other nodes. Any thread; owned by its maker.</summary>
internal interface IPurgeLog
{
    /// <summary>Adds a purge that this node has applied. Returns at once, and keeps the purge until the log has it.</summary>
    /// <returns>Completes when the log has the purge, with its number there.</returns>
    Task<long> Append(Purge purge);

    /// <summary>Waits until every node that serves has applied all purges up to a number.</summary>
    /// <param name="number">A result of <see cref="Append"/>.</param>
    /// <returns>The names of the nodes that have not.</returns>
    Task<IReadOnlyList<string>> WaitUntilAppliedAsync(long number, TimeSpan limit);
}
