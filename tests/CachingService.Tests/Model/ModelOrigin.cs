using System.Globalization;
using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Model;

/// <summary>
/// An origin that answers truthfully, but in every way: fresh, never fresh, private, with more fields in Vary than it needs and not always
/// the same, with and without validators, confirmed or sent again, not at all, or half. Any thread.
/// </summary>
internal sealed class ModelOrigin(ModelBook book, int seed)
{
    private static readonly string[] s_controls =
    [
        "max-age=5", "max-age=5", "max-age=2, stale-while-revalidate=6", "max-age=2, stale-if-error=20",
        "max-age=1, stale-while-revalidate=3, stale-if-error=9", "max-age=0", "no-cache",
        "max-age=3, must-revalidate", "s-maxage=3", "public", "private", "no-store", "no-cache=\"x-model\", max-age=5",
    ];

    private static readonly int[] s_lengths = [40, 40, 200, 5_000, 70_000];

    public async Task AnswerAsync(OriginExchange exchange)
    {
        Random random = new(HashCode.Combine(seed, exchange.Number));
        int key = exchange.Target[^1] - '0';
        if (exchange.Method == "POST")
        {
            await AnswerPostAsync(exchange, key, random.Next(5) == 0);
            return;
        }

        switch (random.Next(24))
        {
            case 0:
                exchange.Reset();
                break;
            case 1:
                await AnswerNoAsync(exchange, "503 X");
                break;
            case 2:
                await AnswerNoAsync(exchange, "500 X\r\nCache-Control: private");
                break;
            case 3:
                await AnswerNoAsync(exchange, "404 X\r\nCache-Control: max-age=1");
                break;
            default:
                await AnswerGetAsync(exchange, key, random);
                break;
        }
    }

    private static Task AnswerNoAsync(OriginExchange exchange, string start) =>
        exchange.SendAsync($"HTTP/1.1 {start}\r\nContent-Length: 2\r\n\r\n" + (exchange.Method == "HEAD" ? "" : "no"));

    private async Task AnswerPostAsync(OriginExchange exchange, int key, bool fails)
    {
        if (fails)
        {
            await exchange.SendAsync("HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n");
            return;
        }

        string version = book.Change(key).ToString(CultureInfo.InvariantCulture);
        await PauseAsync(new(HashCode.Combine(seed, exchange.Number, 1)));
        await exchange.SendAsync($"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Version: {version}\r\n\r\n");
    }

    private async Task AnswerGetAsync(OriginExchange exchange, int key, Random random)
    {
        string codings = exchange.Field("Accept-Encoding") ?? "";
        string coding = ((string[])["zstd", "gzip"]).FirstOrDefault(known => codings.Contains(known, StringComparison.Ordinal), "-");
        string control = s_controls[random.Next(s_controls.Length)];
        bool isForOne = control is "private" or "no-store" && exchange.Method == "GET";
        ModelAnswer answer = new(
            key, book.Current(key), Of("Accept-Language"), Of("X"), ModelBook.DependsOn(key, "Accept-Encoding") ? coding : "-",
            s_lengths[random.Next(s_lengths.Length)], isForOne ? exchange.Number : 0);
        string fields = $"Cache-Control: {control}\r\nX-Model: {answer.Name}\r\nSurrogate-Key: k{key}\r\n{VaryOf(key, random)}";
        bool hasTag = exchange.Method == "HEAD" || random.Next(4) > 0;
        fields += hasTag ? $"ETag: {answer.Tag}\r\n" : "";
        fields += answer.Coding == "-" ? "" : $"Content-Encoding: {answer.Coding}\r\n";
        await PauseAsync(random);
        if (exchange.Field("If-None-Match") == answer.Tag && random.Next(5) > 0)
        {
            await exchange.SendAsync($"HTTP/1.1 304 Not Modified\r\n{fields}\r\n");
            return;
        }

        bool isLengthKnown = random.Next(2) == 0;
        await exchange.SendAsync(
            $"HTTP/1.1 200 OK\r\n{fields}{(!isLengthKnown ? "Transfer-Encoding: chunked" : $"Content-Length: {answer.Length}")}\r\n\r\n");
        if (exchange.Method == "HEAD")
        {
            return;
        }

        string body = answer.Body;
        string framed = isLengthKnown ? body : string.Create(CultureInfo.InvariantCulture, $"{body.Length:x}\r\n{body}\r\n0\r\n\r\n");
        int part = random.Next(framed.Length);
        await exchange.SendAsync(framed[..part]);
        await PauseAsync(random);
        if (random.Next(12) == 0)
        {
            exchange.Reset();
            return;
        }

        await exchange.SendAsync(framed[part..]);

        string Of(string field) => ModelBook.DependsOn(key, field) ? exchange.Field(field) ?? "none" : "-";
    }

    /// <summary>At least what the answer depends on. Nothing is often left out, where nothing need be said.</summary>
    private static string VaryOf(int key, Random random)
    {
        string[] fields = ["Accept-Language", "X", "Accept-Encoding"];
        string[] named = [.. fields.Where(field => ModelBook.DependsOn(key, field) || random.Next(6) == 0)];
        return named.Length == 0 ? "" : $"Vary: {string.Join(", ", named)}\r\n";
    }

    /// <summary>Others go on meanwhile, more or fewer of them.</summary>
    private static async Task PauseAsync(Random random)
    {
        for (int left = random.Next(3) * random.Next(300); left > 0; left--)
        {
            await Task.Yield();
        }
    }
}
