using System.Net;
using System.Net.Sockets;
using System.Text;
using IoUringCache.Transport.Tests.Support;

namespace IoUringCache.Transport.Tests.Kestrel;

/// <summary>HTTP/1.1 by hand: exactly these bytes, and exactly what comes back.</summary>
internal static class RawClient
{
    internal static async Task<Socket> ConnectAsync(KestrelHost host, Action<Socket>? configure = null)
    {
        Socket client = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        configure?.Invoke(client);
        await client.ConnectAsync(IPAddress.Loopback, host.Address.Port).InTime();
        return client;
    }

    /// <summary>Whether the server still listens.</summary>
    internal static bool Accepts(KestrelHost host)
    {
        using Socket client = new(SocketType.Stream, ProtocolType.Tcp);
        try
        {
            client.Connect(IPAddress.Loopback, host.Address.Port);
            return true;
        }
        catch (SocketException)
        {
            return false;
        }
    }

    internal static Task SendTextAsync(this Socket client, string text) => client.SendAllAsync(Encoding.Latin1.GetBytes(text));

    /// <summary>Everything up to the server's FIN.</summary>
    internal static async Task<string> ReceiveTextToEndAsync(this Socket client) => Encoding.Latin1.GetString(await client.ReceiveToEndAsync());

    /// <summary>Reads up to a mark in the answer, so that the connection can be used again.</summary>
    internal static async Task<string> ReceiveTextUntilAsync(this Socket client, string mark)
    {
        StringBuilder received = new();
        byte[] buffer = new byte[1];
        while (!received.ToString().EndsWith(mark, StringComparison.Ordinal))
        {
            int count = await client.ReceiveAsync(buffer).InTime();
            Assert.True(count == 1, $"The connection ended after: {received}");
            received.Append((char)buffer[0]);
        }

        return received.ToString();
    }
}
