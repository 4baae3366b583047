namespace CachingService.Load;

/// <summary>
/// The mark of a connection that came when new ones were refused, or too long ago. It loses its meaning with the first request that is
/// served after all. One request at a time; a feature of the connection.
/// </summary>
/// <param name="isLate">Its first bytes have waited so long that no answer to them would be in time.</param>
internal sealed class Newcomer(bool isLate)
{
    public bool IsLate => isLate;

    public bool IsAdmitted { get; set; }
}
