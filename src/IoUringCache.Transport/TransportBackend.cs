namespace IoUringCache.Transport;

/// <summary>Which I/O back end serves the connections.</summary>
/// <example><code>
/// builder.WebHost.UseIoUring(options => options.Backend = TransportBackend.IoUring);
/// </code></example>
public enum TransportBackend
{
    /// <summary>
    /// io_uring where the kernel offers and permits it, else Kestrel's Sockets transport with the reason in the log.
    /// The default.
    /// </summary>
    Auto,

    /// <summary>
    /// io_uring or nothing: binding throws <see cref="PlatformNotSupportedException"/> with the reason where it is
    /// unavailable.
    /// </summary>
    IoUring,

    /// <summary>Kestrel's Sockets transport; io_uring is not touched.</summary>
    Sockets,
}
