using System.Globalization;
using System.Net.Security;
using System.Net.Sockets;
using System.Text;

namespace CachingService.Tests.Infrastructure;

/// <summary>
/// An HTTP/1.1 client that sends exactly the bytes it is given and shows exactly the bytes that come; through TLS where the URL says so.
/// </summary>
internal sealed class RawClient : IAsyncDisposable
{
    private const string UnixPrefix = "http://unix:";

    private readonly Socket _socket;
    private readonly TlsRecords? _records;
    private readonly Stream _stream;

    private RawClient(Socket socket, bool isTls)
    {
        _socket = socket;
        _records = isTls ? new(socket) : null;
        _stream = _records is null ? new NetworkStream(socket, ownsSocket: true) : new SslStream(_records, leaveInnerStreamOpen: false);
    }

    /// <summary>Whether the last thing that came through TLS was an alert, which is how an orderly end is announced.</summary>
    public bool EndsWithAlert => _records!.EndsWithAlert;

    /// <summary>True where the connection ended by RST; known after <see cref="ReadToCloseAsync"/>.</summary>
    public bool IsReset { get; private set; }

    public static async Task<RawClient> ConnectAsync(string url, int receiveBuffer = 0)
    {
        if (url.StartsWith(UnixPrefix, StringComparison.Ordinal))
        {
            Socket local = new(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
            await local.ConnectAsync(new UnixDomainSocketEndPoint(url[UnixPrefix.Length..])).WaitAsync(Patience.Limit);
            return new(local, isTls: false);
        }

        Uri uri = new(url);
        Socket socket = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        if (receiveBuffer > 0)
        {
            socket.ReceiveBufferSize = receiveBuffer;
        }

        await socket.ConnectAsync(uri.Host, uri.Port).WaitAsync(Patience.Limit);
        RawClient client = new(socket, uri.Scheme == Uri.UriSchemeHttps);
        if (client._stream is SslStream tls)
        {
            SslClientAuthenticationOptions options = new()
            {
                TargetHost = "localhost",
                ApplicationProtocols = [SslApplicationProtocol.Http11],
                RemoteCertificateValidationCallback = static (_, _, _, _) => true,
            };
            await tls.AuthenticateAsClientAsync(options).WaitAsync(Patience.Limit);
        }

        return client;
    }

    /// <summary>Connects, sends one request, and returns without waiting for the answer.</summary>
    public static async Task<RawClient> StartAsync(string url, string target, string fields = "", string method = "GET")
    {
        RawClient client = await ConnectAsync(url);
        await client.SendAsync(target, fields, method);
        return client;
    }

    public Task SendAsync(string target, string fields = "", string method = "GET", string version = "HTTP/1.1") =>
        SendRawAsync($"{method} {target} {version}\r\nHost: cache.test\r\n{fields}\r\n");

    public async Task SendRawAsync(string latin1) =>
        await _stream.WriteAsync(Encoding.Latin1.GetBytes(latin1)).AsTask().WaitAsync(Patience.Limit);

    public async Task<RawResponse> ReadHeadAsync() => new(await ReadThroughAsync("\r\n\r\n"));

    /// <summary>Reads a whole response by its own framing; fails if it is cut.</summary>
    public async Task<(RawResponse Head, string Body)> ReadAsync(bool isHead = false)
    {
        RawResponse head = await ReadHeadAsync();
        string body = isHead ? "" : await ReadBodyAsync(head);
        return (head, body);
    }

    public async Task<string> ReadBodyAsync(RawResponse head)
    {
        if (head["Content-Length"] is { } length)
        {
            return await ReadExactlyAsync(int.Parse(length, CultureInfo.InvariantCulture));
        }

        Assert.Equal("chunked", head["Transfer-Encoding"]);
        StringBuilder body = new();
        while (await ReadChunkAsync() is { Length: > 0 } chunk)
        {
            body.Append(chunk);
        }

        return body.ToString();
    }

    /// <summary>One chunk of a chunked body; empty for the last.</summary>
    public async Task<string> ReadChunkAsync()
    {
        string size = await ReadThroughAsync("\r\n");
        string chunk = await ReadExactlyAsync(int.Parse(size.Trim(), NumberStyles.HexNumber, CultureInfo.InvariantCulture));
        Assert.Equal("\r\n", await ReadExactlyAsync(2));
        return chunk;
    }

    public async Task<string> ReadExactlyAsync(int count)
    {
        byte[] bytes = new byte[count];
        await _stream.ReadExactlyAsync(bytes).AsTask().WaitAsync(Patience.Limit);
        return Encoding.Latin1.GetString(bytes);
    }

    /// <summary>So many bytes, or as many as there are before the end.</summary>
    public async Task<int> ReadAtMostAsync(int count) =>
        await _stream.ReadAtLeastAsync(new byte[count], count, throwOnEndOfStream: false).AsTask().WaitAsync(Patience.Limit);

    /// <summary>Everything that still comes until the connection ends, by FIN or RST.</summary>
    public async Task<string> ReadToCloseAsync()
    {
        StringBuilder text = new();
        byte[] bytes = new byte[65536];
        try
        {
            while (await _stream.ReadAsync(bytes).AsTask().WaitAsync(Patience.Limit) is var count and > 0)
            {
                text.Append(Encoding.Latin1.GetString(bytes, 0, count));
            }
        }
        catch (IOException)
        {
            IsReset = true;
        }

        return text.ToString();
    }

    /// <summary>Leaves at once, by RST.</summary>
    public void Vanish() => _socket.Close(timeout: 0);

    public ValueTask DisposeAsync() => _stream.DisposeAsync();

    private async Task<string> ReadThroughAsync(string end)
    {
        StringBuilder text = new();
        byte[] one = new byte[1];
        while (text.Length < end.Length || text.ToString(text.Length - end.Length, end.Length) != end)
        {
            await _stream.ReadExactlyAsync(one).AsTask().WaitAsync(Patience.Limit);
            text.Append((char)one[0]);
        }

        return text.ToString();
    }
}
