using System.Net;
using System.Net.Sockets;
using IoUringCache.Transport.Tests.Support;

namespace IoUringCache.Transport.Tests.Connections;

/// <summary>The lengths around the borders of pages and buffers, over each kind of end point.</summary>
public sealed class LengthParityTests
{
    private static readonly int[] s_lengths = [1, 4095, 4096, 4097, 32_767, 32_768, 32_769];

    private static readonly Dictionary<string, Func<EndPoint>> s_endPoints = new()
    {
        ["IPv4"] = () => new IPEndPoint(IPAddress.Loopback, 0),
        ["IPv6"] = () => new IPEndPoint(IPAddress.IPv6Loopback, 0),
        ["Unix"] = TransportServer.NewUnixEndPoint,
    };

    public static TheoryData<TransportKind, string> EndPoints => Transports.AllWith(s_endPoints.Keys);

    [Theory]
    [MemberData(nameof(EndPoints))]
    public async Task Echo_OfEveryLength_ComesBackExactlyThenFin(TransportKind kind, string endPoint)
    {
        Assert.SkipUnless(Socket.OSSupportsIPv6 || endPoint != "IPv6", "There is no IPv6 here.");
        await using TransportServer server = await TransportServer.StartAsync(kind, endPoint: s_endPoints[endPoint]());
        foreach (int length in s_lengths)
        {
            await using ConnectionPair pair = await server.ConnectAsync();
            byte[] sent = Payload.Of(length, length);
            Task echoing = ServerPipe.EchoAsync(pair.Server);
            Task<byte[]> receiving = pair.Client.ReceiveToEndAsync();
            await pair.Client.SendAllAsync(sent);
            pair.Client.Shutdown(SocketShutdown.Send);
            Payload.AssertEqual(sent, await receiving.InTime());
            await echoing.InTime();
        }
    }
}
