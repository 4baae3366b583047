using System.Diagnostics;

namespace IoUringCache.Caching.Telemetry;

/// <summary>
/// What the cache did for one request, for the access log, which puts it into the request's features before the cache sees the request. One thread at a
/// time; owned by the access log.
/// </summary>
/// <param name="isTimed">Whether the log tells how long it took: each look at a clock costs a hit 0.3 %.</param>
internal sealed class ServedRequest(bool isTimed)
{
    private readonly long? _begun = isTimed ? Stopwatch.GetTimestamp() : null;
    private long? _firstByteAt;

    /// <summary>How it ended; <see langword="null"/> where the cache had no part in it.</summary>
    public RequestOutcome? Outcome { get; private set; }

    /// <summary>Prefix of the route of its key; empty where no route has it, and where the cache had no part in it.</summary>
    public string Route { get; private set; } = "";

    /// <summary>What has asked the origin for it: its pass, or the fetch that it caused or joined; <see langword="null"/> where none did.</summary>
    public AskedOrigin? Asked { get; set; }

    /// <summary>Bytes of the body that were handed to the transport, chunk framing of our own included.</summary>
    public long SentBytes { get; private set; }

    /// <summary>By the type, which costs less than <c>Get</c>: that is generic and virtual.</summary>
    public static ServedRequest? Of(HttpContext context) => (ServedRequest?)context.Features[typeof(ServedRequest)];

    /// <summary>Since it came; <see langword="null"/> where the log tells no times.</summary>
    public TimeSpan? Duration => _begun is { } begun ? Stopwatch.GetElapsedTime(begun) : null;

    /// <summary>From then until the first byte of the body was handed to the transport; <see langword="null"/> where none was, too.</summary>
    public TimeSpan? FirstByte => _begun is { } begun && _firstByteAt is { } first ? Stopwatch.GetElapsedTime(begun, first) : null;

    /// <summary>Has the cache tell of a request, which has come just now.</summary>
    public static ServedRequest Begin(HttpContext context, bool isTimed)
    {
        ServedRequest served = new(isTimed);
        context.Features[typeof(ServedRequest)] = served;
        return served;
    }

    /// <summary>Some of the body is on its way.</summary>
    public void Sent(long bytes)
    {
        if (_begun is not null)
        {
            _firstByteAt ??= Stopwatch.GetTimestamp();
        }

        SentBytes += bytes;
    }

    public void End(RequestOutcome outcome, string route) => (Outcome, Route) = (outcome, route);
}

/// <summary>Which address of the origin a fetch or pass has asked last, for the access log. Written by the fetch or pass; any thread reads.</summary>
internal sealed class AskedOrigin
{
    private volatile string? _url;

    /// <summary>Without a trailing slash; <see langword="null"/> before the first address is asked, and where none is.</summary>
    public string? Url
    {
        get => _url;
        set => _url = value;
    }
}
