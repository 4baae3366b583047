using System.Text;

namespace CachingService.Tests.Telemetry;

/// <summary>One span as a collector gets it by OTLP (opentelemetry/proto/trace/v1). Immutable.</summary>
/// <param name="Trace">Its id, in hexadecimal digits as the others.</param>
/// <param name="Id">Of the span.</param>
/// <param name="Parent">Empty for none.</param>
/// <param name="Name">What it is called.</param>
/// <param name="Links">The ids of spans that it links to.</param>
/// <param name="Text">All of its message as text, to look for attributes.</param>
internal sealed record OtlpSpan(string Trace, string Id, string Parent, string Name, IReadOnlyList<string> Links, string Text)
{
    private const int Resources = 1;
    private const int Scopes = 2;
    private const int Spans = 2;

    /// <summary>Those of one request to <c>/v1/traces</c>.</summary>
    /// <param name="body">Its bytes as Latin-1.</param>
    public static IReadOnlyList<OtlpSpan> Read(string body) =>
    [
        .. Fields(Encoding.Latin1.GetBytes(body), Resources)
            .SelectMany(static resource => Fields(resource, Scopes))
            .SelectMany(static scope => Fields(scope, Spans))
            .Select(static span => new OtlpSpan(
                Hex(span, 1), Hex(span, 2), Hex(span, 4), Encoding.UTF8.GetString(Fields(span, 5).Single()),
                [.. Fields(span, 13).Select(static link => Hex(link, 2))], Encoding.Latin1.GetString(span))),
    ];

    private static string Hex(byte[] message, int field) => Convert.ToHexStringLower(Fields(message, field).SingleOrDefault() ?? []);

    /// <summary>The values of a field of a message that have a length: texts, bytes and messages.</summary>
    private static List<byte[]> Fields(byte[] message, int number)
    {
        List<byte[]> values = [];
        for (int at = 0; at < message.Length;)
        {
            int key = ReadNumber(message, ref at);
            switch (key & 7)
            {
                case 0:
                    ReadNumber(message, ref at);
                    break;
                case 1:
                    at += sizeof(ulong);
                    break;
                case 2:
                    int length = ReadNumber(message, ref at);
                    if (key >> 3 == number)
                    {
                        values.Add(message[at..(at + length)]);
                    }

                    at += length;
                    break;
                default:
                    at += sizeof(uint);
                    break;
            }
        }

        return values;
    }

    private static int ReadNumber(byte[] message, ref int at)
    {
        long value = 0;
        for (int shift = 0; ; shift += 7)
        {
            byte part = message[at++];
            value |= (long)(part & 0x7F) << shift;
            if (part < 0x80)
            {
                return (int)value;
            }
        }
    }
}
