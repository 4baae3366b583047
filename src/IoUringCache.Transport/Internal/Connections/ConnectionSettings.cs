namespace IoUringCache.Transport.Internal.Connections;

/// <summary>Settings that the connections of one listener or connection factory share. Immutable.</summary>
/// <param name="MaxReadBufferSize">Unexamined bytes at which receiving pauses, 1 or more.</param>
/// <param name="MaxWriteBufferSize">Unsent bytes at which a flush waits, 1 or more.</param>
/// <param name="FinOnError">Whether failed connections end with FIN, as with Kestrel's switch of that name.</param>
/// <param name="IsPaced">Whether TCP paces the connections (BBR).</param>
internal sealed record ConnectionSettings(long MaxReadBufferSize, long MaxWriteBufferSize, bool FinOnError, bool IsPaced)
{
    /// <summary>Whether a request in progress counts toward its loop's limit: of accepted connections it does.</summary>
    internal bool CountsAsBusy { get; init; } = true;

    /// <summary>
    /// Whether what was received before an error is read before the error, as from a socket; otherwise the error comes
    /// first, as from Kestrel's pipes.
    /// </summary>
    internal bool ReadsDataFirst { get; init; }

    private const string FinOnErrorSwitch = "Microsoft.AspNetCore.Server.Kestrel.FinOnError";

    internal static ConnectionSettings From(IoUringTransportOptions options, bool isPaced) => new(
        LimitOf(options.MaxReadBufferSize),
        LimitOf(options.MaxWriteBufferSize),
        AppContext.TryGetSwitch(FinOnErrorSwitch, out bool finOnError) && finOnError,
        isPaced);

    private static long LimitOf(long? bytes) => bytes is null or 0 ? long.MaxValue : bytes.Value;
}
