using System.Globalization;
using System.Net.Sockets;
using System.Text;

namespace CachingService.Tests.Infrastructure;

/// <summary>One request at the scripted origin, and the raw socket to answer it with whatever bytes the script likes.</summary>
internal sealed class OriginExchange(Socket socket, string head, int number, bool isFirstOfConnection)
{
    /// <summary>1 for the first request that this origin got.</summary>
    public int Number => number;

    public bool IsFirstOfConnection => isFirstOfConnection;

    /// <summary>Request line and fields as they came.</summary>
    public string Head => head;

    public string RequestLine => head.Split("\r\n")[0];

    public string Target => RequestLine.Split(' ')[1];

    public string Method => RequestLine.Split(' ')[0];

    public string? Field(string name) => head.Split("\r\n").Skip(1)
        .Where(line => line.StartsWith(name + ":", StringComparison.OrdinalIgnoreCase))
        .Select(line => line[(name.Length + 1)..].Trim()).FirstOrDefault();

    public Task SendAsync(string latin1) => SendAsync(Encoding.Latin1.GetBytes(latin1));

    public async Task SendAsync(byte[] bytes)
    {
        for (int sent = 0; sent < bytes.Length;)
        {
            sent += await socket.SendAsync(bytes.AsMemory(sent), SocketFlags.None).AsTask().WaitAsync(Patience.Limit);
        }
    }

    /// <summary>A whole 200 with Content-Length.</summary>
    /// <param name="body">Latin-1.</param>
    /// <param name="fields">Further field lines, each ended by CRLF.</param>
    public Task AnswerAsync(string body, string fields = "Cache-Control: max-age=60\r\n") =>
        SendAsync($"HTTP/1.1 200 OK\r\nContent-Length: {body.Length}\r\n{fields}\r\n{(Method == "HEAD" ? "" : body)}");

    /// <summary>Reads exactly this much of the request's body.</summary>
    public async Task<string> ReadBodyAsync(int count)
    {
        byte[] bytes = new byte[count];
        for (int read = 0; read < count;)
        {
            int more = await socket.ReceiveAsync(bytes.AsMemory(read), SocketFlags.None).AsTask().WaitAsync(Patience.Limit);
            Assert.NotEqual(0, more);
            read += more;
        }

        return Encoding.Latin1.GetString(bytes);
    }

    /// <summary>Reads a chunked body to its end, without trailers, and takes the framing off.</summary>
    public async Task<string> ReadChunksAsync()
    {
        StringBuilder body = new();
        while (true)
        {
            string size = "";
            while (!size.EndsWith("\r\n", StringComparison.Ordinal))
            {
                size += await ReadBodyAsync(1);
            }

            string chunk = await ReadBodyAsync(int.Parse(size.Trim(), NumberStyles.HexNumber, CultureInfo.InvariantCulture));
            Assert.Equal("\r\n", await ReadBodyAsync(2));
            if (chunk.Length == 0)
            {
                return body.ToString();
            }

            body.Append(chunk);
        }
    }

    /// <summary>True once <see cref="ClosedByServiceAsync"/> has seen the end.</summary>
    public bool IsClosedByService { get; private set; }

    /// <summary>Waits until the service has closed this connection, after at most so many bytes of a body.</summary>
    public async Task ClosedByServiceAsync(int mayRead = 0)
    {
        try
        {
            byte[] bytes = new byte[65536];
            while (await socket.ReceiveAsync(bytes.AsMemory(), SocketFlags.None).AsTask().WaitAsync(Patience.Limit) is var count and > 0)
            {
                mayRead -= count;
                Assert.True(mayRead >= 0, "The service has sent more.");
            }
        }
        catch (SocketException)
        {
            // A reset is a close too.
        }

        IsClosedByService = true;
    }

    /// <summary>Orderly end of the connection.</summary>
    public void Close() => socket.Shutdown(SocketShutdown.Both);

    /// <summary>RST.</summary>
    public void Reset() => socket.Close(timeout: 0);
}
