using System.Buffers;
using System.Buffers.Text;
using System.Text.Json;
using Microsoft.AspNetCore.Server.Kestrel.Core.Internal.Http;

namespace IoUringCache.TechEmpower;

/// <summary>Parses the requests of one connection, by Kestrel's parser, and writes their answers. One thread at a time.</summary>
internal sealed class PlatformResponder : IHttpRequestLineHandler, IHttpHeadersHandler
{
    private static readonly HttpParser<PlatformResponder> s_parser = new();

    private readonly ArrayBufferWriter<byte> _json = new(64);
    private readonly Utf8JsonWriter _jsonWriter;
    private Route _route;

    public PlatformResponder() => _jsonWriter = new Utf8JsonWriter(_json, new JsonWriterOptions { SkipValidation = true });

    private static ReadOnlySpan<byte> PlaintextBody => "Hello, World!"u8;

    private static ReadOnlySpan<byte> PlaintextHead => "HTTP/1.1 200 OK\r\nServer: Kestrel\r\nContent-Type: text/plain\r\nContent-Length: "u8;

    private static ReadOnlySpan<byte> JsonHead => "HTTP/1.1 200 OK\r\nServer: Kestrel\r\nContent-Type: application/json\r\nContent-Length: "u8;

    private static ReadOnlySpan<byte> NotFoundHead => "HTTP/1.1 404 Not Found\r\nServer: Kestrel\r\nContent-Length: "u8;

    /// <summary>Answers every request that is there as a whole.</summary>
    /// <returns>Where the first one begins that is not.</returns>
    /// <exception cref="Microsoft.AspNetCore.Http.BadHttpRequestException">This is not HTTP/1.1.</exception>
    public SequencePosition Answer(in ReadOnlySequence<byte> received, IBufferWriter<byte> output)
    {
        SequenceReader<byte> reader = new(received);
        SequencePosition answered = received.Start;
        while (!reader.End && s_parser.ParseRequestLine(this, ref reader) && s_parser.ParseHeaders(this, ref reader))
        {
            answered = reader.Position;
            WriteAnswer(output);
        }

        return answered;
    }

    public void OnStartLine(HttpVersionAndMethod versionAndMethod, TargetOffsetPathLength targetPath, Span<byte> startLine)
    {
        ReadOnlySpan<byte> path = startLine.Slice(targetPath.Offset, targetPath.Length);
        _route = versionAndMethod.Method != Microsoft.AspNetCore.Server.Kestrel.Core.Internal.Http.HttpMethod.Get ? Route.Unknown
            : path.SequenceEqual("/plaintext"u8) ? Route.Plaintext
            : path.SequenceEqual("/json"u8) ? Route.Json
            : Route.Unknown;
    }

    public void OnHeader(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value)
    {
    }

    public void OnHeadersComplete(bool endStream)
    {
    }

    public void OnStaticIndexedHeader(int index) => throw new NotSupportedException("HTTP/1.1 has no table of header fields.");

    public void OnStaticIndexedHeader(int index, ReadOnlySpan<byte> value) => OnStaticIndexedHeader(index);

    private void WriteAnswer(IBufferWriter<byte> output)
    {
        switch (_route)
        {
            case Route.Plaintext:
                Write(output, PlaintextHead, PlaintextBody);
                break;
            case Route.Json:
                _json.ResetWrittenCount();
                _jsonWriter.Reset();
                JsonSerializer.Serialize(_jsonWriter, new Message("Hello, World!"), MessageJsonContext.Default.Message);
                Write(output, JsonHead, _json.WrittenSpan);
                break;
            default:
                Write(output, NotFoundHead, []);
                break;
        }
    }

    /// <summary>One piece of the output, filled from front to back.</summary>
    private static void Write(IBufferWriter<byte> output, ReadOnlySpan<byte> head, ReadOnlySpan<byte> body)
    {
        const int LongestNumber = 10;
        ReadOnlySpan<byte> date = DateLine.Current;
        Span<byte> target = output.GetSpan(head.Length + LongestNumber + 2 + date.Length + 2 + body.Length);
        head.CopyTo(target);
        int length = head.Length;
        Utf8Formatter.TryFormat(body.Length, target[length..], out int digits);
        length += digits;
        length += Append(target[length..], "\r\n"u8);
        length += Append(target[length..], date);
        length += Append(target[length..], "\r\n"u8);
        length += Append(target[length..], body);
        output.Advance(length);
    }

    private static int Append(Span<byte> target, ReadOnlySpan<byte> text)
    {
        text.CopyTo(target);
        return text.Length;
    }
}
