using IoUringCache.Transport;
using IoUringCache.Transport.Internal.Hosting;
using Microsoft.AspNetCore.Connections;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.DependencyInjection.Extensions;
using Microsoft.Extensions.Options;

namespace Microsoft.AspNetCore.Hosting;

/// <summary>Adds the io_uring transport to Kestrel.</summary>
public static class WebHostBuilderIoUringExtensions
{
    /// <summary>
    /// Serves Kestrel's TCP, Unix socket and file handle end points over io_uring. Where the kernel does not offer or permit it, Kestrel's
    /// Sockets transport serves them, unless <see cref="IoUringTransportOptions.Backend"/> requires io_uring; a line in the log says which,
    /// and why. Needs Linux 6.0 or later (multishot receive); elsewhere it falls back. It may stand before or after <c>UseKestrel</c> and
    /// <c>UseSockets</c>; of other transports, the one that was added last serves.
    /// </summary>
    /// <param name="builder">The host's builder.</param>
    /// <param name="configure">Sets options; they start from what <c>UseSockets</c> configured. Validated when the server starts:
    /// <see cref="OptionsValidationException"/> names the option.</param>
    /// <returns>The builder.</returns>
    /// <example><code>
    /// WebApplicationBuilder builder = WebApplication.CreateBuilder(args);
    /// builder.WebHost.UseIoUring();
    /// </code></example>
    public static IWebHostBuilder UseIoUring(this IWebHostBuilder builder, Action<IoUringTransportOptions>? configure = null)
    {
        ArgumentNullException.ThrowIfNull(builder);

        // UseSockets brings the services that the fallback needs, and its transport only once: called again after this, it configures
        // and stays behind. Kestrel asks the transport that was registered last first.
        return builder.UseSockets().ConfigureServices(services =>
        {
            services.TryAddEnumerable(ServiceDescriptor.Singleton<IConnectionListenerFactory, IoUringTransportFactory>());

            // In front of whatever configures these options, also before this call: it sets what they start from.
            services.Insert(0, ServiceDescriptor.Singleton<IConfigureOptions<IoUringTransportOptions>, IoUringTransportOptionsSetup>());
            services.TryAddEnumerable(ServiceDescriptor.Singleton<IValidateOptions<IoUringTransportOptions>, IoUringTransportOptionsSetup>());
            if (configure is not null)
            {
                services.Configure(configure);
            }
        });
    }
}
