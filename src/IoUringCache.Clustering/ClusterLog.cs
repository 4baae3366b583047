namespace IoUringCache.Clustering;

/// <summary>The log lines of the cluster, by number. Any thread.</summary>
internal static partial class ClusterLog
{
    [LoggerMessage(1, LogLevel.Information, "All purges in {Stream} are known")]
    public static partial void Following(ILogger log, string stream);

    [LoggerMessage(2, LogLevel.Warning, "Cut off: this node has not known all purges in {Stream} for {Silence} ({Reason})")]
    public static partial void CutOff(ILogger log, string stream, TimeSpan silence, string reason);

    [LoggerMessage(3, LogLevel.Warning, "No connection to the log of purges {Stream}: {Reason}")]
    public static partial void NoConnection(ILogger log, string stream, string reason);

    [LoggerMessage(4, LogLevel.Warning, "Everything stored is stale now, because purges before number {Number} of {Stream} may be missing: {Reason}")]
    public static partial void PlaceLost(ILogger log, string stream, long number, string reason);

    [LoggerMessage(5, LogLevel.Warning, "Cannot write the place in {Stream}; after a restart this node applies purges again: {Reason}")]
    public static partial void PlaceNotWritten(ILogger log, string stream, string reason);

    [LoggerMessage(6, LogLevel.Warning, "Too many purges wait for {Stream}; the last of them became a purge of everything")]
    public static partial void Merged(ILogger log, string stream);

    [LoggerMessage(7, LogLevel.Error, "Another node has the name {Node} too; give each node its own Cache:Cluster:Node")]
    public static partial void NameTaken(ILogger log, string node);
}
