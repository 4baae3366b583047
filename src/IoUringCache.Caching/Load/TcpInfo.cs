using System.Net.Sockets;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;

namespace IoUringCache.Caching.Load;

/// <summary>
/// What the kernel knows of a TCP connection at one moment: <c>TCP_INFO</c> of tcp(7), <c>struct tcp_info</c> of linux/tcp.h, which only ever
/// grows at its end. Immutable; any thread.
/// </summary>
/// <param name="SinceLastReceived">Time since the last segment with data came, in whole milliseconds.</param>
/// <param name="ReceivedBytes">Bytes of data received.</param>
/// <param name="AcknowledgedBytes">Bytes sent that the peer has acknowledged.</param>
/// <param name="QueuedBytes">Bytes in the kernel's hands that the peer has not acknowledged, sent or not.</param>
internal readonly record struct TcpInfo(TimeSpan SinceLastReceived, long ReceivedBytes, long AcknowledgedBytes, long QueuedBytes)
{
    private const int TcpLevel = 6;
    private const int InfoOption = 11;
    private const int SinceLastReceivedOffset = 52;
    private const int AcknowledgedOffset = 120;
    private const int ReceivedOffset = 128;
    private const int NotSentOffset = 144;
    private const int SentOffset = 200;
    private const int RetransmittedOffset = 208;

    /// <summary>Up to the last field that is read here, which came with Linux 4.19.</summary>
    private const int Length = 216;

    /// <returns><see langword="null"/> where the kernel does not tell: no TCP, an older kernel, a connection that has ended.</returns>
    public static TcpInfo? Of(IConnectionSocketFeature? connection)
    {
        Span<byte> info = stackalloc byte[Length];
        try
        {
            if (connection?.Socket.GetRawSocketOption(TcpLevel, InfoOption, info) != Length)
            {
                return null;
            }
        }
        catch (Exception failure) when (failure is SocketException or ObjectDisposedException)
        {
            return null;
        }

        long acknowledged = BitConverter.ToInt64(info[AcknowledgedOffset..]);
        long sent = BitConverter.ToInt64(info[SentOffset..]) - BitConverter.ToInt64(info[RetransmittedOffset..]);
        return new(
            TimeSpan.FromMilliseconds(BitConverter.ToUInt32(info[SinceLastReceivedOffset..])),
            BitConverter.ToInt64(info[ReceivedOffset..]),
            acknowledged,
            Math.Max(0, sent - acknowledged) + BitConverter.ToUInt32(info[NotSentOffset..]));
    }
}

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
