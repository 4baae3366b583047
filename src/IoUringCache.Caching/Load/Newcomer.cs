namespace IoUringCache.Caching.Load;

/// <summary>
/// The mark of a connection that came when new ones were refused, or too long ago. It loses its meaning with the first request that is
/// served after all. A feature of the connection; requests that come at the same moment (HTTP/2) may both find the mark, and be refused.
/// </summary>
/// <param name="isLate">Its first bytes have waited so long that no answer to them would be in time.</param>
internal sealed class Newcomer(bool isLate)
{
    /// <summary>Until its first request is refused for that: over HTTP/2 the connection stays, and later bytes are not late.</summary>
    public bool IsLate { get; set; } = isLate;

    public bool IsAdmitted { get; set; }
}
