using System.Buffers.Binary;
using System.Text;

namespace CachingService.Tests.Infrastructure;

/// <summary>One request at an origin that speaks frames, and its answer. Any thread.</summary>
internal sealed class FrameStream(FrameConnection connection, int id, IReadOnlyList<(string Name, string Value)> fields)
{
    public const byte EndStream = 1;

    /// <summary>Under its index, because <see cref="HeaderBlock"/> has few names.</summary>
    public const string IfNoneMatch = "#41";

    private const byte EndHeaders = 4;

    private readonly TaskCompletionSource<string> _body = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly TaskCompletionSource<int> _reset = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly StringBuilder _received = new();

    public FrameConnection Connection => connection;

    /// <summary>From 1, of all connections.</summary>
    public int Number { get; set; }

    public int Id => id;

    public string Path => Field(":path")!;

    /// <summary>Error code of the service's RST_STREAM, once it comes.</summary>
    public Task<int> Reset => _reset.Task.WaitAsync(Patience.Limit);

    /// <summary>All of the request's body, once it has ended.</summary>
    public Task<string> Body => _body.Task.WaitAsync(Patience.Limit);

    public int ReceivedBytes
    {
        get
        {
            lock (_received)
            {
                return _received.Length;
            }
        }
    }

    public string? Field(string name) => fields.FirstOrDefault(field => field.Name == name).Value;

    /// <summary>A whole answer with Content-Length.</summary>
    public async Task AnswerAsync(string body)
    {
        await HeadAsync("200", false, ("content-length", $"{body.Length}"), ("cache-control", "max-age=60"));
        await DataAsync(body, isEnd: true);
    }

    public Task HeadAsync(string status, bool isEnd, params (string Name, string Value)[] head) => FieldsAsync(isEnd, [(":status", status), .. head]);

    /// <summary>A block of fields: a head, or trailers.</summary>
    public Task FieldsAsync(bool isEnd, params (string Name, string Value)[] block) =>
        connection.SendAsync(FrameType.Headers, (byte)(EndHeaders | (isEnd ? EndStream : 0)), id, HeaderBlock.Encode(block));

    public Task DataAsync(string latin1, bool isEnd = false) =>
        connection.SendAsync(FrameType.Data, isEnd ? EndStream : (byte)0, id, Encoding.Latin1.GetBytes(latin1));

    public Task ResetAsync(int code) => connection.SendAsync(FrameType.Reset, 0, id, Number32(code));

    /// <param name="lastId">Requests above it have not been looked at.</param>
    /// <param name="code">0: no error.</param>
    public Task GoAwayAsync(int lastId, int code = 0) => connection.SendAsync(FrameType.GoAway, 0, 0, [.. Number32(lastId), .. Number32(code)]);

    public void Received(byte[] data, bool isEnd)
    {
        lock (_received)
        {
            _received.Append(Encoding.Latin1.GetString(data));
            if (isEnd)
            {
                _body.TrySetResult(_received.ToString());
            }
        }
    }

    public void WasReset(int code) => _reset.TrySetResult(code);

    private static byte[] Number32(int value)
    {
        byte[] bytes = new byte[4];
        BinaryPrimitives.WriteInt32BigEndian(bytes, value);
        return bytes;
    }
}
