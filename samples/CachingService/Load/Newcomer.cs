namespace CachingService.Load;

/// <summary>
/// The mark of a connection that came when new ones were refused. It loses its meaning with the first request that is served after all.
/// One request at a time; a feature of the connection.
/// </summary>
internal sealed class Newcomer
{
    public bool IsAdmitted { get; set; }
}
