using IoUringCache.Caching.Http1;

namespace IoUringCache.Caching.Origins;

/// <summary>
/// The origin did not give a usable response. Carries what a client may know (status and a fixed word); the message is for the log.
/// </summary>
/// <param name="statusCode">500, 502, 503 or 504, for a client that has no headers yet.</param>
/// <param name="detail">A token for Cache-Status, never text from the origin.</param>
/// <param name="message">For the log. May quote the origin: control characters are replaced.</param>
/// <param name="cause">What the HTTP stack said.</param>
internal sealed class OriginException(int statusCode, string detail, string message, Exception? cause = null)
    : Exception(Printable(message), cause)
{
    public int StatusCode { get; } = statusCode;

    public string Detail { get; } = detail;

    /// <summary>Where it happened, if that is known.</summary>
    public OriginReplica? Replica { get; set; }

    /// <summary>What it says of the address, for a failure before the headers.</summary>
    public AddressFault Fault { get; init; }

    /// <summary>How long the origin is not asked again about what stands in for it; <see langword="null"/> where it does not say.</summary>
    public TimeSpan? HoldOff { get; init; }

    /// <summary>When to come back, where a limit of our own and not the origin refuses.</summary>
    public TimeSpan? RetryAfter { get; init; }

    /// <summary>Whether a body broke off or stopped coming, which says nothing against the bytes that have come.</summary>
    public bool IsBreak { get; init; }

    /// <summary>A cap was reached, or somebody's time is over; in a second all may be well.</summary>
    public static OriginException Overloaded(string detail) =>
        new(StatusCodes.Status503ServiceUnavailable, detail, "a limit of this service was reached") { RetryAfter = TimeSpan.FromSeconds(1) };

    /// <summary>Every address has failed too often to be asked now.</summary>
    public static OriginException CircuitOpen(TimeSpan retryAfter) =>
        new(StatusCodes.Status503ServiceUnavailable, "origin-circuit-open", "the origin has failed too often") { RetryAfter = retryAfter };

    /// <summary>The head of an answer did not come, or cannot be trusted.</summary>
    /// <param name="failure">Why.</param>
    /// <param name="patience">How long it was waited for.</param>
    public static OriginException Of(Http1Exception failure, TimeSpan patience) => failure.Fault switch
    {
        Http1Fault.Late => Timeout("origin-header-timeout", $"no response headers within {patience.TotalSeconds:0.###} s", failure, AddressFault.Silent),
        Http1Fault.NoAnswer => BadGateway("origin-no-answer", failure.Message, failure),
        Http1Fault.BadField => BadGateway("origin-bad-headers", failure.Message, failure),
        Http1Fault.BadFraming => BadGateway("origin-bad-framing", failure.Message, failure),
        _ => BadGateway("origin-bad-response", failure.GetBaseException().Message, failure),
    };

    public static OriginException BadGateway(
        string detail, string message, Exception? cause = null, AddressFault fault = AddressFault.Unusable) =>
        new(StatusCodes.Status502BadGateway, detail, message, cause) { Fault = fault };

    /// <summary>A body cannot be read to its end.</summary>
    public static OriginException BrokenBody(Http1Exception failure) =>
        new(StatusCodes.Status502BadGateway, "origin-body-broken", failure.Message, failure) { IsBreak = failure.Fault == Http1Fault.BadMessage };

    /// <summary>An end point of this process has thrown, or has cut its response.</summary>
    public static OriginException EndpointFailed(Exception cause) =>
        new(StatusCodes.Status500InternalServerError, "endpoint-failed", cause.Message, cause);

    public static OriginException Timeout(
        string detail, string message, Exception? cause = null, AddressFault fault = AddressFault.Unusable) =>
        new(StatusCodes.Status504GatewayTimeout, detail, message, cause) { Fault = fault };

    /// <summary>What an origin sends must neither add lines to the log nor steer the terminal that shows it.</summary>
    private static string Printable(string message) => string.Concat(message.Select(character => char.IsControl(character) ? '?' : character));
}

/// <summary>What a request that got no usable answer says of the address that it was sent to.</summary>
internal enum AddressFault
{
    /// <summary>It is there: what it sent cannot be used, or it closed the connection.</summary>
    Unusable,

    /// <summary>No headers in time. It may be dead, or only this answer slow.</summary>
    Silent,

    /// <summary>No connection: refused, no route, no such name, no TLS, or not in time.</summary>
    Unreachable,
}
