using System.Net;
using System.Net.Sockets;
using System.Text;
using IoUringCache.Transport.Tests.Kestrel;
using IoUringCache.Transport.Tests.Support;

namespace Protocol.Tests.Http1;

/// <summary>HTTP/1.1 byte by byte, for what no client of the shelf lets one do.</summary>
internal static class RawHttp
{
    internal static async Task<Socket> ConnectAsync(KestrelHost host)
    {
        Socket client = new(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        await client.ConnectAsync(IPAddress.Loopback, host.Address.Port).InTime();
        return client;
    }

    internal static Task SendTextAsync(this Socket client, string text) => client.SendAllAsync(Encoding.ASCII.GetBytes(text));

    /// <summary>The next bytes, which must be this text.</summary>
    internal static async Task ExpectTextAsync(this Socket client, string expected) =>
        Assert.Equal(expected, Encoding.ASCII.GetString(await client.ReceiveExactlyAsync(expected.Length)));

    /// <summary>The head of the next answer, up to and with its empty line.</summary>
    internal static async Task<string> ReceiveHeadAsync(this Socket client)
    {
        StringBuilder head = new();
        while (!head.ToString().EndsWith("\r\n\r\n", StringComparison.Ordinal))
        {
            head.Append((char)(await client.ReceiveExactlyAsync(1))[0]);
        }

        return head.ToString();
    }
}
