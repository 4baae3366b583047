namespace IoUringCache.Transport.Internal.Connections;

/// <summary>What the connections of one listener have in common. Immutable.</summary>
/// <param name="MaxReadBufferSize">Received and unexamined bytes at which receiving pauses.</param>
/// <param name="MaxWriteBufferSize">Flushed and unsent bytes at which a flush waits.</param>
/// <param name="FinOnError">Whether failed connections end with FIN too, as with Kestrel's switch of that name.</param>
/// <param name="IsPaced">Whether TCP paces what the connections send.</param>
internal sealed record ConnectionSettings(long MaxReadBufferSize, long MaxWriteBufferSize, bool FinOnError, bool IsPaced)
{
    private const string FinOnErrorSwitch = "Microsoft.AspNetCore.Server.Kestrel.FinOnError";

    internal static ConnectionSettings From(IoUringTransportOptions options, bool isPaced) => new(
        LimitOf(options.MaxReadBufferSize),
        LimitOf(options.MaxWriteBufferSize),
        AppContext.TryGetSwitch(FinOnErrorSwitch, out bool finOnError) && finOnError,
        isPaced);

    private static long LimitOf(long? bytes) => bytes is null or 0 ? long.MaxValue : bytes.Value;
}
