using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;

namespace IoUringCache.Caching.Load;

/// <summary>
/// How long the first bytes of a new connection have been here: in the listen queue, where they cost nothing and are not seen, and since it
/// was accepted. Any thread.
/// </summary>
internal static class ArrivalAge
{
    /// <summary>Zero for who has sent nothing yet, and where the kernel does not tell (a Unix socket). In milliseconds, as it counts them.</summary>
    public static TimeSpan Of(ConnectionContext connection) =>
        TcpInfo.Of(connection.Features.Get<IConnectionSocketFeature>()) is { ReceivedBytes: > 0 } info ? info.SinceLastReceived : TimeSpan.Zero;
}
