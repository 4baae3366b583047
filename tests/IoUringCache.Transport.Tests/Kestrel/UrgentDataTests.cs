using System.Net.Sockets;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;

namespace IoUringCache.Transport.Tests.Kestrel;

/// <summary>
/// Many clients with urgent data in front of each request, or within it. Where a kernel leaves a receive at urgent data, it does so for some
/// of a thousand (docs/kernels.md); each request is answered nevertheless.
/// </summary>
public sealed class UrgentDataTests
{
    private const string Request = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
    private const int ClientCount = 24;
    private const int ConnectionsPerClient = 25;
    private const int RequestsPerConnection = 5;

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Requests_WithUrgentData_AreAllAnswered(TransportKind kind)
    {
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application => application.Run(context => context.Response.WriteAsync("hello")));
        await Task.WhenAll(Enumerable.Range(0, ClientCount).Select(client => Task.Run(() => RequestAsync(host, client))));
    }

    private static async Task RequestAsync(KestrelHost host, int seed)
    {
        Random random = new(seed);
        for (int connection = 0; connection < ConnectionsPerClient; connection++)
        {
            using Socket client = await RawClient.ConnectAsync(host);
            for (int request = 0; request < RequestsPerConnection; request++)
            {
                int before = random.Next(2) * random.Next(Request.Length);
                await client.SendTextAsync(Request[..before]);
                await client.SendAsync("!"u8.ToArray(), SocketFlags.OutOfBand).InTime();
                await client.SendTextAsync(Request[before..]);
                await client.ReceiveTextUntilAsync("hello\r\n0\r\n\r\n");
            }
        }
    }
}
