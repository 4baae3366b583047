using System.Globalization;
using System.Net;
using System.Text;

namespace IoUringCache.Benchmarks;

/// <summary>
/// One request again and again. The first answer is checked whole when the connection is made; of each later one the head is looked
/// through for its end, and as many bytes of body are received as the first one had on the wire.
/// </summary>
internal sealed class HttpExchange : Exchange
{
    private const int BufferBytes = 64 * 1024;

    private readonly byte[] _buffer = new byte[BufferBytes];
    private int _wireBodyLength;

    private HttpExchange(IPEndPoint endPoint, string target)
        : base(endPoint, Encoding.ASCII.GetBytes($"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n"))
    {
    }

    /// <param name="endPoint">The server.</param>
    /// <param name="target">Of the request line.</param>
    /// <param name="expectedBody">Of each answer, however it is framed.</param>
    /// <param name="expectedHead">Text that the head must hold besides 200.</param>
    /// <exception cref="InvalidOperationException">The server's first answer is another one.</exception>
    public static HttpExchange Connect(IPEndPoint endPoint, string target, ReadOnlyMemory<byte> expectedBody, string expectedHead = "")
    {
        HttpExchange exchange = new(endPoint, target);
        exchange.ReceiveFirstAnswer(expectedBody.Span, expectedHead);
        return exchange;
    }

    public override int ReceiveAnswer()
    {
        int received = 0;
        int headLength;
        do
        {
            received += Receive(_buffer.AsSpan(received));
            headLength = HeadLength(_buffer.AsSpan(0, received));
        }
        while (headLength == 0);

        int length = headLength + _wireBodyLength;
        while (received < length)
        {
            received += Receive(_buffer.AsSpan(0, Math.Min(length - received, BufferBytes)));
        }

        return received;
    }

    private void ReceiveFirstAnswer(ReadOnlySpan<byte> expectedBody, string expectedHead)
    {
        SendRequest();
        List<byte> answer = [];
        byte[]? body = null;
        int headLength = 0;
        while (body is null)
        {
            answer.AddRange(_buffer.AsSpan(0, Receive(_buffer)));
            byte[] bytes = [.. answer];
            headLength = HeadLength(bytes);
            if (headLength != 0)
            {
                body = BodyOf(Encoding.Latin1.GetString(bytes, 0, headLength), bytes.AsSpan(headLength));
            }
        }

        string head = Encoding.Latin1.GetString([.. answer], 0, headLength);
        if (!head.StartsWith("HTTP/1.1 200 OK\r\n", StringComparison.Ordinal)
            || !head.Contains(expectedHead, StringComparison.Ordinal)
            || !expectedBody.SequenceEqual(body))
        {
            throw new InvalidOperationException($"the server's answer is not the expected one, so its speed means nothing: {head}");
        }

        _wireBodyLength = answer.Count - headLength;
    }

    /// <summary>0 while the head is not complete.</summary>
    private static int HeadLength(ReadOnlySpan<byte> received)
    {
        int end = received.IndexOf("\r\n\r\n"u8);
        return end < 0 ? 0 : end + 4;
    }

    /// <summary>Null while the body is not complete.</summary>
    private static byte[]? BodyOf(string head, ReadOnlySpan<byte> received)
    {
        if (head.Contains("Transfer-Encoding: chunked\r\n", StringComparison.OrdinalIgnoreCase))
        {
            return Unchunk(received);
        }

        const string LengthField = "Content-Length: ";
        int start = head.IndexOf(LengthField, StringComparison.OrdinalIgnoreCase) + LengthField.Length;
        int length = int.Parse(head.AsSpan(start, head.IndexOf('\r', start) - start), NumberStyles.None, CultureInfo.InvariantCulture);
        return received.Length < length ? null : received[..length].ToArray();
    }

    private static byte[]? Unchunk(ReadOnlySpan<byte> received)
    {
        List<byte> body = [];
        while (true)
        {
            int lineLength = received.IndexOf("\r\n"u8);
            if (lineLength < 0)
            {
                return null;
            }

            int length = int.Parse(received[..lineLength], NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture);
            received = received[(lineLength + 2)..];
            if (received.Length < length + 2)
            {
                return null;
            }

            if (length == 0)
            {
                return [.. body];
            }

            body.AddRange(received[..length]);
            received = received[(length + 2)..];
        }
    }
}
