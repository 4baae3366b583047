using IoUringCache.Transport;

namespace System.Net.Http;

/// <summary>Makes the connections of an <see cref="HttpClient"/> on io_uring.</summary>
/// <example><code>
/// using HttpClient client = new(new SocketsHttpHandler().UseIoUring());
/// </code></example>
public static class SocketsHttpHandlerIoUringExtensions
{
    /// <summary>The factory of the process. Tests set one that they dispose.</summary>
    internal static Lazy<IoUringConnectionFactory> OfProcess { get; set; } = new(static () => new IoUringConnectionFactory());

    /// <summary>
    /// Connects on io_uring by a factory of the process with default options; by ordinary sockets where io_uring is
    /// unavailable. Its event loops start at the first connect and stay until the process ends: no handler owns them.
    /// A server with default options shares them.
    /// </summary>
    /// <param name="handler">The handler, before its first request.</param>
    /// <returns>The same handler.</returns>
    /// <exception cref="InvalidOperationException">
    /// The handler has a <see cref="SocketsHttpHandler.ConnectCallback"/> already, or has sent a request.
    /// </exception>
    public static SocketsHttpHandler UseIoUring(this SocketsHttpHandler handler) => Use(handler, static () => OfProcess.Value);

    /// <summary>Connects on io_uring by a factory of the caller.</summary>
    /// <param name="handler">The handler, before its first request.</param>
    /// <param name="factory">
    /// The factory, which the caller disposes after the handler: that ends the connections of the handler too.
    /// </param>
    /// <returns>The same handler.</returns>
    /// <exception cref="InvalidOperationException">
    /// The handler has a <see cref="SocketsHttpHandler.ConnectCallback"/> already, or has sent a request.
    /// </exception>
    public static SocketsHttpHandler UseIoUring(this SocketsHttpHandler handler, IoUringConnectionFactory factory)
    {
        ArgumentNullException.ThrowIfNull(factory);
        return Use(handler, () => factory);
    }

    private static SocketsHttpHandler Use(SocketsHttpHandler handler, Func<IoUringConnectionFactory> factory)
    {
        ArgumentNullException.ThrowIfNull(handler);
        if (handler.ConnectCallback is not null)
        {
            throw new InvalidOperationException(
                "The handler has a ConnectCallback already. UseIoUring sets one, and only one can make the connections: remove the other.");
        }

        handler.ConnectCallback = (context, cancellationToken) => new(factory().ConnectStreamAsync(context.DnsEndPoint, cancellationToken));
        return handler;
    }
}
