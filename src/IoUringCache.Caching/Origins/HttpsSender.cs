using System.Net;
using System.Net.Http.Headers;
using System.Text;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Http1;
using IoUringCache.Caching.Options;
using Microsoft.Extensions.Primitives;

namespace IoUringCache.Caching.Origins;

/// <summary>
/// Asks an <c>https://</c> address, by the base library's HTTP stack with all that it would do by itself taken off: over HTTP/2 where TLS has
/// agreed on it, else over HTTP/1.1. Any thread; owned by its replica.
/// </summary>
internal sealed class HttpsSender : IOriginSender
{
    /// <summary>Without a frame on a connection of HTTP/2 that has requests; then as long for the answer to a ping.</summary>
    private static readonly TimeSpan s_pingDelay = TimeSpan.FromSeconds(5);

    private static readonly UriCreationOptions s_rawBytes = new() { DangerousDisablePathAndQueryCanonicalization = true };

    private readonly HttpMessageInvoker _invoker;
    private readonly string _url;
    private readonly OriginOptions _options;
    private readonly TimeProvider _time;

    /// <param name="url">The address, without a trailing slash.</param>
    /// <param name="options">Time-outs.</param>
    /// <param name="time">Clock of the header and idle time-outs.</param>
    public HttpsSender(string url, OriginOptions options, TimeProvider time)
    {
        (_url, _options, _time) = (url, options, time);
        _invoker = new(new SocketsHttpHandler
        {
            UseProxy = false,
            UseCookies = false,
            AllowAutoRedirect = false,
            AutomaticDecompression = DecompressionMethods.None,

            // Else the fill would carry the trace of the client that happened to be first.
            ActivityHeadersPropagator = null,
            ConnectTimeout = options.ConnectTimeout,
            ConnectCallback = new OriginTls(options.Tls).ConnectAsync,
            EnableMultipleHttp2Connections = true,

            // Else requests would go to a dead connection of HTTP/2 one after the other, until TCP gives it up.
            KeepAlivePingDelay = s_pingDelay,
            KeepAlivePingTimeout = s_pingDelay,
            KeepAlivePingPolicy = HttpKeepAlivePingPolicy.WithActiveRequests,

            // The default keeps connections, and with them an old address, for ever.
            PooledConnectionLifetime = TimeSpan.FromMinutes(2),

            // A dropped response closes its connection; the default reads on for up to 1 MiB or 2 s.
            MaxResponseDrainSize = 0,
            PlaintextStreamFilter = static (context, _) => ValueTask.FromResult(
                context.NegotiatedHttpVersion.Major >= 2 ? context.PlaintextStream : new OriginConnection(context.PlaintextStream)),
            RequestHeaderEncodingSelector = static (_, _) => Encoding.Latin1,
            ResponseHeaderEncodingSelector = static (_, _) => Encoding.Latin1,
        });
    }

    /// <inheritdoc/>
    public async ValueTask<HttpOriginResponse> SendAsync(OriginRequest request, string target, CancellationToken cancellationToken)
    {
        using HeaderClock clock = new(_options.HeaderTimeout, _time);
        HandlerContent? upload = request.Body is { } body ? new(body, clock) : null;
        using HttpRequestMessage message = MakeMessage(request, target, upload);
        await using CancellationTokenRegistration registration = cancellationToken.UnsafeRegister(
            static state => ((HeaderClock)state!).Cancel(), clock);
        OriginConnection.Trace trace = OriginConnection.BeginTrace();
        HttpResponseMessage? response = null;
        long start = _time.GetTimestamp();
        try
        {
            response = await _invoker.SendAsync(message, clock.Token);
            if (Http2Answer.Is(response))
            {
                Http2Answer.CheckHead(response);
            }

            Receipt receipt = new(_time.GetUtcNow(), _time.GetElapsedTime(start));
            ResponseHead head = OriginFraming.ReadHead(response, receipt.Time);
            Stream content = await response.Content.ReadAsStreamAsync(clock.Token);
            if (Http2Answer.Is(response))
            {
                content = Http2Answer.CheckBody(content, request.Method, head);
            }

            HandlerBody answer = new(response, content, upload, trace.Connection, _time);
            return new(request.Rewrite(head), receipt, answer, start, request.IsPass ? TimeSpan.MaxValue : _options.MaxFillAge, _options, _time);
        }
        catch (Exception failure)
        {
            upload?.Stop();
            if (failure is OriginException or Http1Exception)
            {
                trace.Connection?.Retire();
                response?.Dispose();
                throw failure is Http1Exception fault ? OriginException.Of(fault, _options.HeaderTimeout) : failure;
            }

            response?.Dispose();

            // Whatever broke first, a caller who has given up hears of that and not of the origin.
            cancellationToken.ThrowIfCancellationRequested();
            throw Translate(failure, clock.Token.IsCancellationRequested, isHttp2: trace.Connection is null);
        }
    }

    public void Dispose() => _invoker.Dispose();

    /// <summary>The URL is made by concatenation and without a canonical form, so that the origin gets the client's bytes.</summary>
    private HttpRequestMessage MakeMessage(OriginRequest request, string target, HandlerContent? upload)
    {
        HttpRequestMessage message = new(request.Method, new Uri($"{_url}/{target}", s_rawBytes))
        {
            // A protocol is taken up in the place of HTTP/1.1 only (RFC 9113 8.6).
            Version = request.Upgrade is null ? HttpVersion.Version20 : HttpVersion.Version11,
            VersionPolicy = request.Upgrade is null ? HttpVersionPolicy.RequestVersionOrLower : HttpVersionPolicy.RequestVersionExact,
            Content = (HttpContent?)upload ?? MakeEmptyContent(request.Method),
        };
        message.Headers.Host = request.Host;
        foreach ((string name, StringValues values) in request.SentFields)
        {
            HttpHeaders? fields = HeaderRules.DescribesContent(name) ? message.Content?.Headers : message.Headers;
            fields?.TryAddWithoutValidation(name, (IEnumerable<string?>)values);
        }

        return message;
    }

    /// <summary>
    /// Content, if only none: without any, the HTTP stack takes it on itself to send a request again, and an unsafe one must go once.
    /// </summary>
    private static ByteArrayContent? MakeEmptyContent(HttpMethod method) => MethodRules.IsSafe(method.Method) ? null : new([]);

    private OriginException Translate(Exception failure, bool ranOutOfPatience, bool isHttp2) => failure switch
    {
        OperationCanceledException when ranOutOfPatience =>
            OriginException.Of(new(Http1Fault.Late, "nothing came in time", failure), _options.HeaderTimeout),
        OperationCanceledException { InnerException: TimeoutException } => OriginException.Timeout(
            "origin-connect-timeout", $"no connection within {_options.ConnectTimeout.TotalSeconds:0.###} s", failure, AddressFault.Unreachable),
        _ when OriginTls.IsCauseOf(failure) =>
            OriginException.BadGateway("origin-tls", failure.GetBaseException().Message, failure, AddressFault.Unreachable),
        HttpRequestException { HttpRequestError: HttpRequestError.ConnectionError or HttpRequestError.NameResolutionError } =>
            OriginException.BadGateway("origin-unreachable", failure.Message, failure, AddressFault.Unreachable),
        _ when failure.GetBaseException() is Http1Exception cause => OriginException.Of(cause, _options.HeaderTimeout),
        _ when isHttp2 && Http2Answer.IsMissing(failure) =>
            OriginException.Of(new(Http1Fault.NoAnswer, failure.GetBaseException().Message), _options.HeaderTimeout),

        // The outermost message is often only that something went wrong.
        _ => OriginException.BadGateway("origin-bad-response", failure.GetBaseException().Message, failure),
    };
}
