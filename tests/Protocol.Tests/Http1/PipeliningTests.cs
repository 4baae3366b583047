using System.Net.Sockets;
using System.Text;
using IoUringCache.Transport.Tests.Kestrel;
using IoUringCache.Transport.Tests.Support;
using Protocol.Tests.Support;

namespace Protocol.Tests.Http1;

/// <summary>Requests that are sent before the answers to earlier ones have come.</summary>
public sealed class PipeliningTests
{
    public static TheoryData<TransportKind> All => Transports.All;

    [Theory]
    [MemberData(nameof(All))]
    public async Task Posts_WithBodies_AreEchoedInOrder(TransportKind kind)
    {
        const int Count = 200;
        await using KestrelHost host = await KestrelHost.StartAsync(kind, WebEndpoints.Map);
        using Socket client = await RawHttp.ConnectAsync(host);
        Task sending = SendAsync();
        for (int i = 0; i < Count; i++)
        {
            string head = await client.ReceiveHeadAsync();
            Assert.StartsWith("HTTP/1.1 200 OK\r\n", head, StringComparison.Ordinal);
            Payload.AssertEqual(Payload.Of(LengthOf(i), i), await ReceiveChunkedAsync(client));
        }

        await sending.InTime();

        // From one byte to more than a receive buffer, so that requests begin and end anywhere in one.
        static int LengthOf(int i) => (i * 37 % 9000) + 1;

        async Task SendAsync()
        {
            using MemoryStream requests = new();
            for (int i = 0; i < Count; i++)
            {
                requests.Write(Encoding.ASCII.GetBytes($"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: {LengthOf(i)}\r\n\r\n"));
                requests.Write(Payload.Of(LengthOf(i), i));
            }

            foreach (byte[] piece in requests.ToArray().Chunk(5003))
            {
                await client.SendAllAsync(piece);
            }
        }
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Gets_AnsweredWithMoreThanTheClientReads_AllArriveOnceItDoes(TransportKind kind)
    {
        const int Count = 30;
        const int Length = 300_000;
        await using KestrelHost host = await KestrelHost.StartAsync(kind, WebEndpoints.Map);
        using Socket client = await RawHttp.ConnectAsync(host);
        await client.SendTextAsync(string.Concat(Enumerable.Repeat($"GET /bytes/{Length} HTTP/1.1\r\nHost: h\r\n\r\n", Count)));
        byte[] expected = Payload.Of(Length);
        for (int i = 0; i < Count; i++)
        {
            Assert.Contains($"Content-Length: {Length}\r\n", await client.ReceiveHeadAsync(), StringComparison.Ordinal);
            Payload.AssertEqual(expected, await client.ReceiveExactlyAsync(Length));
        }
    }

    private static async Task<byte[]> ReceiveChunkedAsync(Socket client)
    {
        using MemoryStream body = new();
        while (true)
        {
            StringBuilder size = new();
            while (!size.ToString().EndsWith("\r\n", StringComparison.Ordinal))
            {
                size.Append((char)(await client.ReceiveExactlyAsync(1))[0]);
            }

            int length = Convert.ToInt32(size.ToString().Trim(), 16);
            body.Write(await client.ReceiveExactlyAsync(length));
            await client.ExpectTextAsync("\r\n");
            if (length == 0)
            {
                return body.ToArray();
            }
        }
    }
}
