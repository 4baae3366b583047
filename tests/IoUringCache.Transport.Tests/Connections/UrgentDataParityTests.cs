using System.Net.Sockets;
using IoUringCache.Transport.Tests.Support;

namespace IoUringCache.Transport.Tests.Connections;

/// <summary>TCP's urgent data: the byte is not part of the stream, and what follows it is.</summary>
public sealed class UrgentDataParityTests
{
    private const int Rounds = 200;

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Client_SendsUrgentDataInBetween_StreamIsWholeWithoutIt(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        for (int round = 0; round < Rounds; round++)
        {
            await pair.Client.SendAllAsync("abc"u8.ToArray());
            await pair.Client.SendAsync("!"u8.ToArray(), SocketFlags.OutOfBand).InTime();
            await pair.Client.SendAllAsync("def"u8.ToArray());
            Assert.Equal("abcdef"u8.ToArray(), await pair.Input.TakeAsync(6));
        }
    }
}
