using System.Net;
using System.Net.Http.Headers;
using System.Text;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Options;
using Microsoft.Extensions.Primitives;

namespace IoUringCache.Caching.Origins;

/// <summary>
/// Talks to the origin over HTTP/1.1, and hands on what it says without following, unpacking, remembering or repeating anything. Any
/// thread; one per service.
/// </summary>
internal sealed class OriginClient : IOrigin, IDisposable
{
    private readonly HttpMessageInvoker _invoker;
    private readonly OriginOptions _options;
    private readonly OriginReplicas _replicas;
    private readonly TimeProvider _time;

    /// <param name="replicas">The origin's addresses; told of what they do.</param>
    /// <param name="options">Time-outs.</param>
    /// <param name="time">Clock of the header and idle time-outs.</param>
    public OriginClient(OriginReplicas replicas, OriginOptions options, TimeProvider time)
    {
        (_replicas, _options, _time) = (replicas, options, time);
        _invoker = new(new SocketsHttpHandler
        {
            UseProxy = false,
            UseCookies = false,
            AllowAutoRedirect = false,
            AutomaticDecompression = DecompressionMethods.None,

            // Else the fill would carry the trace of the client that happened to be first.
            ActivityHeadersPropagator = null,
            ConnectTimeout = options.ConnectTimeout,

            // The default keeps connections, and with them an old address, for ever.
            PooledConnectionLifetime = TimeSpan.FromMinutes(2),

            // A dropped response closes its connection; the default reads on for up to 1 MiB or 2 s.
            MaxResponseDrainSize = 0,
            PlaintextStreamFilter = static (context, _) => ValueTask.FromResult<Stream>(new OriginConnection(context.PlaintextStream)),
            RequestHeaderEncodingSelector = static (_, _) => Encoding.Latin1,
            ResponseHeaderEncodingSelector = static (_, _) => Encoding.Latin1,
        });
    }

    /// <summary>Called when an address has failed too often.</summary>
    public Action<OriginReplica>? Ejected { get; set; }

    /// <inheritdoc/>
    public int AddressCount => _replicas.All.Count;

    /// <summary>
    /// Sends a request to one address and waits for sound response headers. Any answer speaks for the address, except that 502, 503, 504
    /// and what cannot be used may have another one preferred (<see cref="OriginCircuit"/>).
    /// </summary>
    /// <exception cref="OriginException">
    /// No connection, no headers in time, or headers that cannot be trusted; or no address may be asked now.
    /// </exception>
    public async Task<OriginResponse> SendAsync(OriginRequest request, CancellationToken cancellationToken)
    {
        OriginReplica replica = _replicas.Choose(request.FailedAt, request.IsPass, out OriginPlace place);
        bool isAnswered = false;
        long askedAt = _time.GetTimestamp();
        try
        {
            HttpOriginResponse response = await ExchangeAsync(replica, request, replica.UrlOf(request.Address.Target), cancellationToken);
            Judge(replica, request.Key, response.Head.StatusCode);
            response.Place = place;
            isAnswered = true;
            return response;
        }
        catch (OriginException failure)
        {
            failure.Replica = replica;
            if (request.Body?.ClientFailure is null)
            {
                Judge(replica, request.Key, failure, askedAt);
            }

            throw;
        }
        finally
        {
            place.EndTrial();
            if (!isAnswered)
            {
                place.Dispose();
            }
        }
    }

    /// <summary>
    /// Asks one address for a path, below its base. Anything but 2xx and 3xx counts as if it could not be reached: the path was chosen to tell.
    /// </summary>
    public async Task ProbeAsync(OriginReplica replica, string path, CancellationToken cancellationToken)
    {
        bool isWell;
        long askedAt = _time.GetTimestamp();
        try
        {
            OriginRequest request = new(HttpMethod.Get, default, []);
            using OriginResponse response = await ExchangeAsync(replica, request, replica.UrlOf(path[1..]), cancellationToken);
            isWell = response.Head.StatusCode < StatusCodes.Status400BadRequest;
        }
        catch (OriginException)
        {
            isWell = false;
        }

        if (isWell)
        {
            replica.Circuit.Answered();
        }
        else
        {
            Tell(replica, hasOpened: replica.Circuit.Failed(key: null, askedAt));
        }
    }

    public void Dispose() => _invoker.Dispose();

    private void Judge(OriginReplica replica, string key, int status)
    {
        if (status is StatusCodes.Status502BadGateway or StatusCodes.Status503ServiceUnavailable or StatusCodes.Status504GatewayTimeout)
        {
            Tell(replica, replica.Circuit.AnsweredBadly(key));
        }
        else
        {
            replica.Circuit.Answered();
        }
    }

    private void Judge(OriginReplica replica, string key, OriginException failure, long askedAt) => Tell(replica, failure.Fault switch
    {
        AddressFault.Unreachable => replica.Circuit.Failed(key: null, askedAt),
        AddressFault.Silent => replica.Circuit.Failed(key, askedAt),
        _ => replica.Circuit.AnsweredBadly(key),
    });

    private void Tell(OriginReplica replica, bool hasOpened)
    {
        if (hasOpened)
        {
            Ejected?.Invoke(replica);
        }
    }

    private async Task<HttpOriginResponse> ExchangeAsync(OriginReplica replica, OriginRequest request, Uri url, CancellationToken cancellationToken)
    {
        using HttpRequestMessage message = MakeMessage(url, request);
        using HeaderClock clock = new(_options.HeaderTimeout, _time);
        if (request.Body is { } body)
        {
            body.Clock = clock;
        }

        await using CancellationTokenRegistration registration = cancellationToken.UnsafeRegister(
            static state => ((HeaderClock)state!).Cancel(), clock);
        OriginConnection.Trace trace = OriginConnection.BeginTrace();
        HttpResponseMessage? response = null;
        long start = _time.GetTimestamp();
        try
        {
            response = await _invoker.SendAsync(message, clock.Token);
            Receipt receipt = new(_time.GetUtcNow(), _time.GetElapsedTime(start));
            ResponseHead head = OriginFraming.ReadHead(response, receipt.Time);
            if (response.Headers is { Date: { } date, Age: null })
            {
                replica.Compare(date, receipt.Time);
            }

            if (head.StatusCode is < StatusCodes.Status200OK or > 599)
            {
                // 101, which nobody asked for, or a number that is no status (RFC 9110 15).
                throw OriginException.BadGateway("origin-unexpected-status", $"status {head.StatusCode} is no final status");
            }

            Stream content = await response.Content.ReadAsStreamAsync(clock.Token);
            TimeSpan maxAge = request.IsPass ? TimeSpan.MaxValue : _options.MaxFillAge;
            return new(replica, response, head, receipt, content, trace.Connection, maxAge, _options, _time);
        }
        catch (Exception failure)
        {
            if (failure is OriginException)
            {
                trace.Connection?.Retire();
                response?.Dispose();
                throw;
            }

            response?.Dispose();

            // Whatever broke first, a caller who has given up hears of that and not of the origin.
            cancellationToken.ThrowIfCancellationRequested();
            throw Translate(failure, clock.Token.IsCancellationRequested);
        }
    }

    private static HttpRequestMessage MakeMessage(Uri url, OriginRequest request)
    {
        HttpRequestMessage message = new(request.Method, url)
        {
            Version = HttpVersion.Version11,
            VersionPolicy = HttpVersionPolicy.RequestVersionExact,
            Content = (HttpContent?)request.Body ?? MakeEmptyContent(request.Method),
        };
        message.Headers.Host = request.Host;
        foreach ((string name, StringValues values) in request.Fields)
        {
            HttpHeaders? target = HeaderRules.DescribesContent(name) ? message.Content?.Headers : message.Headers;
            target?.TryAddWithoutValidation(name, (IEnumerable<string?>)values);
        }

        return message;
    }

    /// <summary>
    /// Content, if only none: without any, the HTTP stack takes it on itself to send a request again, and an unsafe one must go once.
    /// </summary>
    private static ByteArrayContent? MakeEmptyContent(HttpMethod method) => MethodRules.IsSafe(method.Method) ? null : new([]);

    private OriginException Translate(Exception failure, bool ranOutOfPatience) => failure switch
    {
        OperationCanceledException when ranOutOfPatience =>
            OriginException.Timeout(
                "origin-header-timeout", $"no response headers within {_options.HeaderTimeout.TotalSeconds:0.###} s", null, AddressFault.Silent),
        OperationCanceledException { InnerException: TimeoutException } => OriginException.Timeout(
            "origin-connect-timeout", $"no connection within {_options.ConnectTimeout.TotalSeconds:0.###} s", failure, AddressFault.Unreachable),
        HttpRequestException { HttpRequestError: var error } when error is HttpRequestError.ConnectionError
            or HttpRequestError.NameResolutionError or HttpRequestError.SecureConnectionError =>
            OriginException.BadGateway("origin-unreachable", failure.Message, failure, AddressFault.Unreachable),
        _ when failure.GetBaseException() is NoAnswerException cause =>
            OriginException.BadGateway("origin-no-answer", cause.Message, failure),

        // The outermost message is often only that something went wrong.
        _ => OriginException.BadGateway("origin-bad-response", failure.GetBaseException().Message, failure),
    };
}
