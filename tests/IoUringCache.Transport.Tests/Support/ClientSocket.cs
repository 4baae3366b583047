using System.Net.Sockets;

namespace IoUringCache.Transport.Tests.Support;

/// <summary>What a client does in a test, each with a time-out.</summary>
internal static class ClientSocket
{
    internal static async Task SendAllAsync(this Socket client, ReadOnlyMemory<byte> data)
    {
        while (!data.IsEmpty)
        {
            data = data[await client.SendAsync(data).InTime()..];
        }
    }

    internal static async Task<byte[]> ReceiveExactlyAsync(this Socket client, int length)
    {
        byte[] received = new byte[length];
        for (int at = 0; at < length;)
        {
            int count = await client.ReceiveAsync(received.AsMemory(at)).InTime();
            if (count == 0)
            {
                Assert.Fail($"The connection ended after {at} of {length} bytes.");
            }

            at += count;
        }

        return received;
    }

    /// <summary>Everything up to the peer's FIN; a reset throws.</summary>
    internal static async Task<byte[]> ReceiveToEndAsync(this Socket client)
    {
        using MemoryStream received = new();
        byte[] buffer = new byte[64 * 1024];
        while (true)
        {
            int count = await client.ReceiveAsync(buffer).InTime();
            if (count == 0)
            {
                return received.ToArray();
            }

            received.Write(buffer, 0, count);
        }
    }

    /// <summary>Reads on until the connection is reset; fails at an orderly end.</summary>
    internal static async Task AssertResetAsync(this Socket client)
    {
        SocketException exception = await Assert.ThrowsAsync<SocketException>(client.ReceiveToEndAsync);
        Assert.Equal(SocketError.ConnectionReset, exception.SocketErrorCode);
    }

    /// <summary>Sends without an end until the server has reset the connection; fails when the client is left waiting for room.</summary>
    internal static async Task SendUntilItFailsAsync(this Socket client)
    {
        byte[] data = new byte[64 * 1024];
        SocketException exception = await Assert.ThrowsAsync<SocketException>(async () =>
        {
            while (true)
            {
                await client.SendAllAsync(data);
            }
        });
        Assert.True(
            exception.SocketErrorCode is SocketError.ConnectionReset or SocketError.Shutdown or SocketError.ConnectionAborted,
            $"Sending failed with {exception.SocketErrorCode}.");
    }

    /// <summary>Ends the connection with RST.</summary>
    internal static void Reset(this Socket client)
    {
        client.LingerState = new LingerOption(true, 0);
        client.Dispose();
    }
}
