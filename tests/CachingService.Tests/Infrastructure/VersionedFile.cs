using System.Globalization;
using System.Text;

namespace CachingService.Tests.Infrastructure;

/// <summary>Answers of an origin that has a file of 300,000 bytes, as a server of files gives them: conditions, then one range, under <c>If-Range</c>.</summary>
internal sealed class VersionedFile
{
    public const string Fields = "Cache-Control: max-age=60\r\n";

    /// <summary>Of version a, with which it begins.</summary>
    public static readonly string FirstBody = BodyOf('a');

    private volatile string _body = FirstBody;
    private volatile string _tag = "\"a\"";

    /// <summary>Of the present version.</summary>
    public string Body { get => _body; set => _body = value; }

    public string Tag => _tag;

    /// <summary>Another file takes its place.</summary>
    public void Replace(char version) => (_body, _tag) = (BodyOf(version), $"\"{version}\"");

    public Task AnswerAsync(OriginExchange exchange) => AnswerAsync(exchange, $"{Fields}ETag: {_tag}\r\n");

    public Task AnswerAsync(OriginExchange exchange, string fields)
    {
        string body = _body;
        if (exchange.Field("If-None-Match") is { } known && known == _tag)
        {
            return exchange.SendAsync($"HTTP/1.1 304 X\r\n{fields}\r\n");
        }

        if (exchange.Field("Range") is not { } range || (exchange.Field("If-Range") is { } condition && !fields.Contains(condition, StringComparison.Ordinal)))
        {
            return exchange.AnswerAsync(body, fields);
        }

        int[] ends = [.. range["bytes=".Length..].Split('-').Select(static text => int.Parse(text, CultureInfo.InvariantCulture))];
        return SendPartAsync(exchange, fields, body, ends[0], Math.Min(ends[1], body.Length - 1));
    }

    public static string BodyOf(char version)
    {
        byte[] body = new byte[300_000];
        new Random(version).NextBytes(body);
        return Encoding.Latin1.GetString(body);
    }

    private static Task SendPartAsync(OriginExchange exchange, string fields, string body, int first, int last) => exchange.SendAsync(
        $"HTTP/1.1 206 X\r\n{fields}Content-Range: bytes {first}-{last}/{body.Length}\r\nContent-Length: {last - first + 1}\r\n\r\n{body[first..(last + 1)]}");
}
