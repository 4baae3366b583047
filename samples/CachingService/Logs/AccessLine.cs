using System.Buffers;
using System.Diagnostics;
using System.Globalization;
using System.Security.Authentication;
using System.Text.Encodings.Web;
using System.Text.Json;
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
/// <param name="begun">The same by <see cref="Stopwatch"/>.</param>
/// <param name="hasFailed">Whether it ended by an exception, which the server answers if there was no answer.</param>
internal readonly ref struct AccessLine(HttpContext context, ServedRequest served, string client, DateTime time, long begun, bool hasFailed)
{
    /// <summary>Of a client that has gone before its answer began, as nginx has it.</summary>
    private const int ClientClosedRequest = 499;

    /// <summary>Bytes; a longer line is tried again with twice the room.</summary>
    private const int UsualLine = 1024;

    /// <summary>Stands for what there is not.</summary>
    private const string None = "-";

    private static readonly JsonWriterOptions s_json = new()
    {
        // For programs that read logs, not for pages of HTML.
        Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping,
        SkipValidation = true,
    };

    private static readonly SearchValues<char> s_escaped =
        SearchValues.Create([.. Enumerable.Range(0, 0x20).Concat(Enumerable.Range(0x7F, 0x21)).Append('"').Append('\\').Select(static code => (char)code)]);

    [ThreadStatic]
    private static ArrayBufferWriter<byte>? s_text;

    [ThreadStatic]
    private static Utf8JsonWriter? s_writer;

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

    /// <returns>The line with its end, until the next call on this thread.</returns>
    public ReadOnlySpan<byte> Format(AccessLogFormat format)
    {
        ArrayBufferWriter<byte> text = s_text ??= new();
        text.ResetWrittenCount();
        if (format == AccessLogFormat.Json)
        {
            WriteJson(text);
        }
        else
        {
            WriteCommon(text, hasFields: format == AccessLogFormat.Combined);
        }

        text.Write("\n"u8);
        return text.WrittenSpan;
    }

    private void WriteJson(ArrayBufferWriter<byte> text)
    {
        HttpRequest request = context.Request;
        Utf8JsonWriter json = s_writer ??= new(text, s_json);
        json.Reset(text);
        json.WriteStartObject();
        json.WriteString("time"u8, time);
        json.WriteString("client"u8, client);
        json.WriteString("method"u8, request.Method);
        json.WriteString("host"u8, request.Host.Value);
        string target = Target;
        int query = target.IndexOf('?');
        json.WriteString("path"u8, query < 0 ? target : target.AsSpan(0, query));
        if (query >= 0)
        {
            json.WriteString("query"u8, target.AsSpan(query + 1));
        }

        json.WriteString("protocol"u8, request.Protocol);
        if (request.IsHttps && context.Features.Get<ITlsHandshakeFeature>() is { } tls)
        {
            json.WriteString("tls"u8, tls.Protocol == SslProtocols.Tls13 ? "TLSv1.3" : "TLSv1.2");
        }

        json.WriteNumber("status"u8, Status);
        json.WriteNumber("bytes"u8, Bytes);
        json.WriteNumber("duration"u8, Seconds(Stopwatch.GetElapsedTime(begun)));
        if (served.FirstByteAfter(begun) is { } firstByte)
        {
            json.WriteNumber("first_byte"u8, Seconds(firstByte));
        }

        if (served.Outcome is { } outcome)
        {
            json.WriteString("cache"u8, RequestDurations.LabelOf(outcome));
        }

        if (served.Route.Length > 0)
        {
            json.WriteString("route"u8, served.Route);
        }

        WriteIfGiven(json, "origin"u8, served.Asked?.Url);

        // The last member is ours (RFC 9211 2).
        WriteIfGiven(json, "cache_status"u8, context.Response.Headers[CacheStatus.FieldName] is [.., { } status] ? status : null);
        WriteIfGiven(json, "referer"u8, Referer);
        WriteIfGiven(json, "user_agent"u8, Agent);
        WriteIfGiven(json, "trace_id"u8, Activity.Current?.TraceId.ToHexString());
        json.WriteEndObject();
        json.Flush();
    }

    private static void WriteIfGiven(Utf8JsonWriter json, ReadOnlySpan<byte> name, string? value)
    {
        if (value is not null)
        {
            json.WriteString(name, value);
        }
    }

    /// <summary>To the microsecond.</summary>
    private static decimal Seconds(TimeSpan time) => new((int)Math.Min(time.TotalMicroseconds, int.MaxValue), 0, 0, isNegative: false, scale: 6);

    private void WriteCommon(ArrayBufferWriter<byte> text, bool hasFields)
    {
        int written;
        for (int room = UsualLine; !TryWriteCommon(text.GetSpan(room), hasFields, out written); room *= 2)
        {
        }

        text.Advance(written);
    }

    private bool TryWriteCommon(Span<byte> room, bool hasFields, out int written)
    {
        HttpRequest request = context.Request;
        string method = Escape(request.Method);
        string target = Escape(Target);
        string outcome = served.Outcome is { } known ? RequestDurations.LabelOf(known) : None;
        CultureInfo culture = CultureInfo.InvariantCulture;
        return hasFields
            ? Utf8.TryWrite(
                room,
                culture,
                $"{client} - - [{SecondOf(time)}] \"{method} {target} {request.Protocol}\" {Status} {Bytes} \"{Escape(Referer ?? None)}\" \"{Escape(Agent ?? None)}\" {outcome}",
                out written)
            : Utf8.TryWrite(
                room, culture, $"{client} - - [{SecondOf(time)}] \"{method} {target} {request.Protocol}\" {Status} {Bytes} {outcome}", out written);
    }

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
}
