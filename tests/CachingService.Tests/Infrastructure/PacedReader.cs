using System.Buffers.Binary;
using System.Text;

namespace CachingService.Tests.Infrastructure;

/// <summary>A client that takes the body of one answer in as small steps as a test wants, in any version of HTTP.</summary>
internal sealed class PacedReader : IAsyncDisposable
{
    private readonly Func<int, Task<int>> _readAsync;
    private readonly IAsyncDisposable[] _owned;

    private PacedReader(Func<int, Task<int>> readAsync, params IAsyncDisposable[] owned) => (_readAsync, _owned) = (readAsync, owned);

    /// <summary>Bytes taken; over HTTP/1.x and raw HTTP/2 with what frames the body.</summary>
    public long Taken { get; private set; }

    /// <summary>Whether the end has come, in order.</summary>
    public bool IsAtEnd { get; private set; }

    /// <summary>Over HTTP/1.x: asks, and has got the head.</summary>
    /// <param name="url">Of the service.</param>
    /// <param name="target">Path.</param>
    /// <param name="fields">Lines, each ended by CRLF.</param>
    /// <param name="version">Of HTTP.</param>
    /// <param name="receiveBuffer">Of the socket, in bytes; 0: the system's.</param>
    public static async Task<PacedReader> StartAsync(
        string url, string target, string fields = "", string version = "HTTP/1.1", int receiveBuffer = 65536)
    {
        RawClient client = await RawClient.ConnectAsync(url, receiveBuffer);
        await client.SendAsync(target, fields + "Connection: close\r\n", version: version);
        Assert.InRange((await client.ReadHeadAsync()).Status, 200, 206);
        return new(client.ReadAtMostAsync, client);
    }

    /// <summary>Over HTTP/2, by a client that takes from TCP what comes, and has the stream's window hold the service back.</summary>
    public static async Task<PacedReader> StartHttp2Async(Http2Client client, string target, params (string, string)[] fields)
    {
        HttpResponseMessage response = await client.GetAsync(target, fields: fields);
        Stream body = await response.Content.ReadAsStreamAsync(TestContext.Current.CancellationToken);
        return new(
            count => body.ReadAtLeastAsync(new byte[count], count, throwOnEndOfStream: false).AsTask().WaitAsync(Patience.Limit), body);
    }

    /// <summary>Over HTTP/2 in cleartext, by a client with windows of 2 GiB, so that TCP alone holds the service back.</summary>
    public static async Task<PacedReader> StartHttp2BehindTcpAsync(string url, string target)
    {
        RawClient client = await RawClient.ConnectAsync(url, receiveBuffer: 65536);
        byte[] window = new byte[4];
        BinaryPrimitives.WriteInt32BigEndian(window, int.MaxValue);
        byte[] more = new byte[4];
        BinaryPrimitives.WriteInt32BigEndian(more, int.MaxValue - 65535);
        byte[] request = [0x82, 0x86, 0x04, (byte)target.Length, .. Encoding.ASCII.GetBytes(target), 0x01, 0x01, (byte)'x'];
        await client.SendRawAsync(Encoding.Latin1.GetString(
        [
            .. "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"u8,
            .. Frame(type: 4, flags: 0, stream: 0, [0, 4, .. window]),
            .. Frame(type: 8, flags: 0, stream: 0, more),
            .. Frame(type: 1, flags: 5, stream: 1, request),
        ]));
        return new(client.ReadAtMostAsync, client);

        static byte[] Frame(byte type, byte flags, byte stream, byte[] payload) =>
            [0, 0, (byte)payload.Length, type, flags, 0, 0, 0, stream, .. payload];
    }

    /// <exception cref="IOException">It has been cut.</exception>
    public async Task ReadAsync(int count)
    {
        int read = count == 0 ? 0 : await _readAsync(count);
        Taken += read;
        IsAtEnd = read < count;
    }

    /// <summary>Takes all that comes. False if it has been cut.</summary>
    /// <param name="most">Bytes in all after which it stops.</param>
    public async Task<bool> TryReadToEndAsync(long most = long.MaxValue)
    {
        try
        {
            while (!IsAtEnd && Taken < most)
            {
                await ReadAsync((int)Math.Min(65536, most - Taken));
            }

            return true;
        }
        catch (IOException)
        {
            return false;
        }
    }

    public async ValueTask DisposeAsync()
    {
        foreach (IAsyncDisposable owned in _owned)
        {
            await owned.DisposeAsync();
        }
    }
}
