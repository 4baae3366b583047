using System.Globalization;
using System.Net.Sockets;
using System.Text;
using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Drill;

/// <summary>
/// A client that believes nothing: it reads the framing itself, compares every byte, and fails at anything that is none of
/// <see cref="DrillEnd"/>. Keeps its connection from request to request, as long as that is in order. One task uses it.
/// </summary>
internal sealed class DrillClient(string url, DrillObjects objects) : IDisposable
{
    private readonly Uri _url = new(url);
    private readonly byte[] _buffer = new byte[16 * 1024];
    private Socket? _socket;
    private int _start;
    private int _end;
    private bool _isReset;

    public async Task<DrillEnd> AskAsync(DrillRequest request)
    {
        bool isKept = _socket is not null;
        await ConnectAsync();
        string range = request.Range is { } wanted ? $"Range: bytes={wanted.First}-{wanted.Last}\r\n" : "";
        string head = $"{request.Method} /object/{request.Key} HTTP/1.{request.Version}\r\nHost: drill\r\n{range}\r\n";
        DrillEnd end = await TrySendAsync(Encoding.Latin1.GetBytes(head), isKept) ? await ReadAnswerAsync(request) : DrillEnd.Cut;
        if (end is DrillEnd.Cut or DrillEnd.Left || request.Version == 0)
        {
            Close();
        }

        return end;
    }

    public void Dispose() => Close();

    private async Task ConnectAsync()
    {
        if (_socket is null)
        {
            _socket = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
            (_start, _end, _isReset) = (0, 0, false);
            await _socket.ConnectAsync(_url.Host, _url.Port).WaitAsync(Patience.Limit);
        }
    }

    /// <summary>By RST, so that thousands of connections do not linger.</summary>
    private void Close()
    {
        _socket?.Close(timeout: 0);
        _socket = null;
    }

    /// <summary>False if a kept connection has ended: a client may be cut for its memory just when it has read the last byte.</summary>
    private async Task<bool> TrySendAsync(byte[] bytes, bool isKept)
    {
        try
        {
            Assert.Equal(bytes.Length, await _socket!.SendAsync(bytes.AsMemory(), SocketFlags.None).AsTask().WaitAsync(Patience.Limit));
            return true;
        }
        catch (SocketException) when (isKept)
        {
            return false;
        }
    }

    private async Task<DrillEnd> ReadAnswerAsync(DrillRequest request)
    {
        if (await ReadLineAsync() is not { } statusLine)
        {
            return DrillEnd.Cut;
        }

        Assert.StartsWith("HTTP/1.1 ", statusLine, StringComparison.Ordinal);
        int status = int.Parse(statusLine.AsSpan(9, 3), CultureInfo.InvariantCulture);
        Dictionary<string, string> fields = new(StringComparer.OrdinalIgnoreCase);
        while (await ReadLineAsync() is { } line)
        {
            if (line.Length == 0)
            {
                return await ReadBodyAsync(request, status, fields);
            }

            int colon = line.IndexOf(':');
            Assert.True(colon > 0 && fields.TryAdd(line[..colon], line[(colon + 1)..].Trim()), $"a field that is none, or a second one: {line}");
        }

        return DrillEnd.Cut;
    }

    private async Task<DrillEnd> ReadBodyAsync(DrillRequest request, int status, Dictionary<string, string> fields)
    {
        if (status is 502 or 503 or 504)
        {
            Assert.Equal("0", fields["Content-Length"]);
            Assert.Equal("no-store", fields["Cache-Control"]);
            return DrillEnd.Refused;
        }

        byte[] whole = objects.Body(request.Key);
        Assert.Equal($"{request.Key}", fields["X-Key"]);
        ReadOnlyMemory<byte> expected = whole;
        if (status == 206)
        {
            (int first, int last) = request.Range!.Value;
            expected = whole.AsMemory(first..(last + 1));
            Assert.StartsWith($"bytes {first}-{last}/", fields["Content-Range"], StringComparison.Ordinal);
            Assert.Equal($"{expected.Length}", fields["Content-Length"]);
        }
        else
        {
            Assert.Equal(200, status);
        }

        DrillEnd whenComplete = fields["Cache-Status"].Contains("ttl=-", StringComparison.Ordinal) ? DrillEnd.Stale : DrillEnd.Complete;
        Assert.True(whenComplete == DrillEnd.Complete || DrillObjects.MayBeStale(request.Key), $"stale against the origin's will: {request}");
        if (request.Method == "HEAD")
        {
            return whenComplete;
        }

        int read = 0;
        if (fields.TryGetValue("Content-Length", out string? length))
        {
            Assert.Equal($"{expected.Length}", length);
            while (read < expected.Length)
            {
                if (await ReadPieceAsync(expected.Length - read) is not { IsEmpty: false } piece)
                {
                    return DrillEnd.Cut;
                }

                Compare(expected, ref read, piece);
                if (read >= request.LeavesAfter)
                {
                    return DrillEnd.Left;
                }
            }

            return whenComplete;
        }

        return fields.ContainsKey("Transfer-Encoding")
            ? await ReadChunksAsync(request, expected, whenComplete)
            : await ReadToEndAsync(expected, whenComplete);
    }

    private async Task<DrillEnd> ReadChunksAsync(DrillRequest request, ReadOnlyMemory<byte> expected, DrillEnd whenComplete)
    {
        for (int read = 0; ;)
        {
            if (await ReadLineAsync() is not { } line)
            {
                return DrillEnd.Cut;
            }

            Assert.True(int.TryParse(line, NumberStyles.HexNumber, CultureInfo.InvariantCulture, out int left), $"no size of a chunk: {line}");
            bool isLast = left == 0;
            while (left > 0)
            {
                if (await ReadPieceAsync(left) is not { IsEmpty: false } piece)
                {
                    return DrillEnd.Cut;
                }

                left -= piece.Length;
                Compare(expected, ref read, piece);
                if (read >= request.LeavesAfter)
                {
                    return DrillEnd.Left;
                }
            }

            if (await ReadLineAsync() is not { } empty)
            {
                return DrillEnd.Cut;
            }

            Assert.Equal("", empty);
            if (isLast)
            {
                Assert.True(read == expected.Length, $"a clean end after {read} bytes of {expected.Length}");
                return whenComplete;
            }
        }
    }

    /// <summary>HTTP/1.0: FIN is the end, RST is none.</summary>
    private async Task<DrillEnd> ReadToEndAsync(ReadOnlyMemory<byte> expected, DrillEnd whenComplete)
    {
        int read = 0;
        while (await ReadPieceAsync(int.MaxValue) is { IsEmpty: false } piece)
        {
            Compare(expected, ref read, piece);
        }

        Assert.True(_isReset || read == expected.Length, $"a clean end after {read} bytes of {expected.Length}");
        return _isReset ? DrillEnd.Cut : whenComplete;
    }

    private static void Compare(ReadOnlyMemory<byte> expected, ref int read, ReadOnlyMemory<byte> piece)
    {
        Assert.True(read + piece.Length <= expected.Length, $"more than {expected.Length} bytes");
        Assert.True(piece.Span.SequenceEqual(expected.Span.Slice(read, piece.Length)), $"a wrong byte behind the first {read}");
        read += piece.Length;
    }

    /// <summary>A line without its end; <see langword="null"/> where the connection ended first.</summary>
    private async Task<string?> ReadLineAsync()
    {
        while (true)
        {
            int length = _buffer.AsSpan(_start, _end - _start).IndexOf("\r\n"u8);
            if (length >= 0)
            {
                string line = Encoding.Latin1.GetString(_buffer, _start, length);
                _start += length + 2;
                return line;
            }

            if (!await FillAsync())
            {
                return null;
            }
        }
    }

    /// <summary>Bytes that are valid until the next read; none where the connection ended.</summary>
    private async Task<ReadOnlyMemory<byte>> ReadPieceAsync(int most)
    {
        if (_start == _end && !await FillAsync())
        {
            return default;
        }

        ReadOnlyMemory<byte> piece = _buffer.AsMemory(_start, Math.Min(most, _end - _start));
        _start += piece.Length;
        return piece;
    }

    private async Task<bool> FillAsync()
    {
        _buffer.AsSpan(_start, _end - _start).CopyTo(_buffer);
        (_start, _end) = (0, _end - _start);
        Assert.True(_end < _buffer.Length, "a line without an end");
        try
        {
            int count = await _socket!.ReceiveAsync(_buffer.AsMemory(_end), SocketFlags.None).AsTask().WaitAsync(Patience.Limit);
            _end += count;
            return count > 0;
        }
        catch (SocketException)
        {
            _isReset = true;
            return false;
        }
    }
}
