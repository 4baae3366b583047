namespace IoUringCache.Clustering;

/// <summary>
/// Whether this node knows all purges. "Known" means: it has applied all messages that the log had at a moment, and that moment is no longer ago
/// than <c>Cache:Cluster:MaxSilence</c>.
/// <code>
///               known                      not known for longer
///   Starting ----------> Following ------------------------------> CutOff
///      |                     ^                                        |
///      |                     +----------------- known ----------------+
///      |                                                              ^
///      +------------------ not known for longer ----------------------+
/// </code>
/// Objects on the disk are older than the process, so in Starting the cache revalidates every response. In CutOff it does so if
/// <c>Cache:Cluster:WhenCutOff</c> is Validate. If that is Serve, it revalidates only what earlier processes left on the disk, and that only on the
/// way from Starting.
/// </summary>
internal enum ClusterState
{
    /// <summary>The log has not been read to its end yet. The service is not ready.</summary>
    Starting,

    /// <summary>All purges are known.</summary>
    Following,

    /// <summary>There may be purges that this node does not know. The service is degraded.</summary>
    CutOff,
}
