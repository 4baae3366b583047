using System.Net.Sockets;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;

namespace CachingService.Load;

/// <summary>
/// How long the first bytes of a new connection have been here: in the listen queue, where they cost nothing and are not seen, and since it
/// was accepted. Any thread.
/// </summary>
internal static class ArrivalAge
{
    // struct tcp_info of linux/tcp.h, which only ever grows at its end: milliseconds since the last segment with data, and all bytes of data.
    private const int TcpLevel = 6;
    private const int InfoOption = 11;
    private const int LastDataReceivedOffset = 52;
    private const int BytesReceivedOffset = 128;
    private const int InfoBytes = 136;

    /// <summary>Zero for who has sent nothing yet, and where the kernel does not tell (a Unix socket). In milliseconds, as it counts them.</summary>
    public static TimeSpan Of(ConnectionContext connection)
    {
        byte[] info = new byte[InfoBytes];
        try
        {
            int length = connection.Features.Get<IConnectionSocketFeature>()?.Socket.GetRawSocketOption(TcpLevel, InfoOption, info) ?? 0;
            return length == InfoBytes && BitConverter.ToUInt64(info, BytesReceivedOffset) > 0
                ? TimeSpan.FromMilliseconds(BitConverter.ToUInt32(info, LastDataReceivedOffset))
                : TimeSpan.Zero;
        }
        catch (Exception failure) when (failure is SocketException or ObjectDisposedException)
        {
            return TimeSpan.Zero; // It has gone again, or is no TCP.
        }
    }
}
