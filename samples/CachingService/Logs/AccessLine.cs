using System.Buffers;
using System.Diagnostics;
using System.Globalization;
using System.Security.Authentication;
using System.Text.Encodings.Web;
using System.Text.Unicode;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Options;
using IoUringCache.Caching.Telemetry;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Http.Features;

namespace CachingService.Logs;

/// <summary>One request as a line of text, made in memory of the thread that asks for it. On the thread of the request that has ended.</summary>
/// <param name="client">Its address, or <c>unknown</c>.</param>
/// <param name="time">When it came, in UTC.</param>
/// <param name="hasFailed">Whether it ended by an exception, which the server answers if there was no answer.</param>
internal readonly ref struct AccessLine(HttpContext context, ServedRequest served, string client, DateTime time, bool hasFailed)
{
    /// <summary>Of a client that has gone before its answer began, as nginx has it.</summary>
    private const int ClientClosedRequest = 499;

    /// <summary>Bytes; a thread that has a longer line gets twice the room.</summary>
    private const int UsualLine = 1024;

    /// <summary>Stands for what there is not.</summary>
    private const string None = "-";

    private static readonly SearchValues<char> s_escaped =
        SearchValues.Create([.. Enumerable.Range(0, 0x20).Concat(Enumerable.Range(0x7F, 0x21)).Append('"').Append('\\').Select(static code => (char)code)]);

    [ThreadStatic]
    private static byte[]? s_room;

    private static volatile KnownSecond s_second = new(default, "");

    private int Status =>
        context.Response.HasStarted ? context.Response.StatusCode
        : context.RequestAborted.IsCancellationRequested ? ClientClosedRequest
        : hasFailed ? StatusCodes.Status500InternalServerError
        : context.Response.StatusCode;

    /// <summary>Of the body. An answer of the service's own has its length in its head.</summary>
    private long Bytes => served.SentBytes > 0 || served.Outcome is not (null or RequestOutcome.Own) || HttpMethods.IsHead(context.Request.Method)
        ? served.SentBytes
        : context.Response.ContentLength ?? 0;

    /// <summary>As it came over the wire, but for signatures.</summary>
    private string Target => HiddenSignature.Replace(
        context.Features[typeof(IHttpRequestFeature)] is IHttpRequestFeature { RawTarget: { Length: > 0 } target } ? target : context.Request.Path.Value ?? "");

    private string? Referer => HiddenSignature.Replace(context.Request.Headers.Referer);

    private string? Agent => context.Request.Headers.UserAgent;

    private string? Outcome => served.Outcome is { } outcome ? RequestDurations.LabelOf(outcome) : null;

    /// <summary>The last member is ours (RFC 9211 2).</summary>
    private string? CacheStatusOfOurs => context.Response.Headers[CacheStatus.FieldName] is [.., { } status] ? status : null;

    private string? Tls => context.Request.IsHttps && context.Features.Get<ITlsHandshakeFeature>() is { } tls
        ? tls.Protocol == SslProtocols.Tls13 ? "TLSv1.3" : "TLSv1.2"
        : null;

    /// <summary>Of the request's span, or where it is not recorded of its client.</summary>
    private ActivityTraceId? Trace => Activity.Current?.TraceId ?? TraceFields.Of(context.Request.Headers)?.ToContext().TraceId;

    /// <returns>The line with its end, until the next call on this thread.</returns>
    public ReadOnlySpan<byte> Format(AccessLogFormat format)
    {
        byte[] room = s_room ??= new byte[UsualLine];
        int written;
        while (!TryWrite(format, room, out written))
        {
            s_room = room = new byte[2 * room.Length];
        }

        return room.AsSpan(0, written);
    }

    private bool TryWrite(AccessLogFormat format, Span<byte> room, out int written) => format switch
    {
        AccessLogFormat.Json => TryWriteJson(room, out written),
        AccessLogFormat.Combined => TryWriteCombined(room, out written),
        _ => TryWriteCommon(room, out written),
    };

    private bool TryWriteJson(Span<byte> room, out int written)
    {
        HttpRequest request = context.Request;
        string target = Target;
        int query = target.IndexOf('?');
        return Utf8.TryWrite(
            room,
            CultureInfo.InvariantCulture,
            $"{{\"time\":\"{time:O}\"{Text("client", client)}{Text("method", request.Method)}{Text("host", request.Host.Value ?? "")}"
                + $"{Text("path", query < 0 ? target : target[..query])}{Text("query", query < 0 ? null : target[(query + 1)..])}"
                + $"{Text("protocol", request.Protocol)}{Text("tls", Tls)},\"status\":{Status},\"bytes\":{Bytes}"
                + $"{Seconds("duration", served.Duration)}{Seconds("first_byte", served.FirstByte)}"
                + $"{Text("cache", Outcome)}{Text("route", served.Route.Length > 0 ? served.Route : null)}{Text("origin", served.Asked?.Url)}"
                + $"{Text("cache_status", CacheStatusOfOurs)}{Text("referer", Referer)}{Text("user_agent", Agent)}"
                + $"{Text("trace_id", Trace?.ToHexString())}}}\n",
            out written);
    }

    private bool TryWriteCombined(Span<byte> room, out int written) => Utf8.TryWrite(
        room,
        CultureInfo.InvariantCulture,
        $"{client} - - [{SecondOf(time)}] \"{Escape(context.Request.Method)} {Escape(Target)} {context.Request.Protocol}\" {Status} {Bytes}"
            + $" \"{Escape(Referer ?? None)}\" \"{Escape(Agent ?? None)}\" {Outcome ?? None}\n",
        out written);

    private bool TryWriteCommon(Span<byte> room, out int written) => Utf8.TryWrite(
        room,
        CultureInfo.InvariantCulture,
        $"{client} - - [{SecondOf(time)}] \"{Escape(context.Request.Method)} {Escape(Target)} {context.Request.Protocol}\" {Status} {Bytes}"
            + $" {Outcome ?? None}\n",
        out written);

    private static JsonText Text(string name, string? value) => new(name, value);

    private static JsonSeconds Seconds(string name, TimeSpan? time) => new(name, time);

    /// <summary>Control characters, quotes and backslashes are written as <c>\xHH</c>, as in nginx's logs.</summary>
    private static string Escape(string value) => value.AsSpan().ContainsAny(s_escaped)
        ? string.Concat(value.Select(static each => s_escaped.Contains(each) ? string.Create(CultureInfo.InvariantCulture, $"\\x{(int)each:X2}") : each.ToString()))
        : value;

    /// <summary>Mostly the same as that of the line before.</summary>
    private static string SecondOf(DateTime time)
    {
        DateTime second = new(time.Ticks - (time.Ticks % TimeSpan.TicksPerSecond), DateTimeKind.Utc);
        KnownSecond known = s_second;
        if (known.Time != second)
        {
            s_second = known = new(second, second.ToString("dd/MMM/yyyy:HH:mm:ss +0000", CultureInfo.InvariantCulture));
        }

        return known.Text;
    }

    private sealed record KnownSecond(DateTime Time, string Text);

    /// <summary>A member of an object of JSON and the comma before it; nothing without a value.</summary>
    private readonly struct JsonText(string name, string? value) : IUtf8SpanFormattable
    {
        public bool TryFormat(Span<byte> utf8Destination, out int bytesWritten, ReadOnlySpan<char> format, IFormatProvider? provider)
        {
            bytesWritten = 0;

            // For programs that read logs, not for pages of HTML.
            return value is null
                || Utf8.TryWrite(utf8Destination, provider, $",\"{name}\":\"{JavaScriptEncoder.UnsafeRelaxedJsonEscaping.Encode(value)}\"", out bytesWritten);
        }
    }

    /// <summary>The same of a time, to the microsecond.</summary>
    private readonly struct JsonSeconds(string name, TimeSpan? time) : IUtf8SpanFormattable
    {
        public bool TryFormat(Span<byte> utf8Destination, out int bytesWritten, ReadOnlySpan<char> format, IFormatProvider? provider)
        {
            bytesWritten = 0;
            return time is not { } given
                || Utf8.TryWrite(
                    utf8Destination,
                    provider,
                    $",\"{name}\":{given.Ticks / TimeSpan.TicksPerSecond}.{given.Ticks % TimeSpan.TicksPerSecond / TimeSpan.TicksPerMicrosecond:D6}",
                    out bytesWritten);
        }
    }
}
