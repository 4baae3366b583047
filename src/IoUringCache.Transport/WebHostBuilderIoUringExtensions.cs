using IoUringCache.Transport;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Options;

namespace Microsoft.AspNetCore.Hosting;

/// <summary>Adds the io_uring transport to Kestrel.</summary>
public static class WebHostBuilderIoUringExtensions
{
    /// <summary>
    /// Serves Kestrel's TCP, Unix socket and file handle end points on io_uring. Needs Linux 6.0 or later (multishot
    /// receive). Where the kernel does not offer or permit io_uring, Kestrel's Sockets transport serves them, unless
    /// <see cref="IoUringTransportOptions.Backend"/> requires io_uring; the log says which one serves, and why. May be
    /// called before or after <c>UseKestrel</c> and <c>UseSockets</c>; of other transports, the one that was added last
    /// serves.
    /// </summary>
    /// <param name="builder">The host's builder.</param>
    /// <param name="configure">
    /// Sets options, which start from what <c>UseSockets</c> configured. The start of the server validates them: an
    /// <see cref="OptionsValidationException"/> names the option that is wrong.
    /// </param>
    /// <returns>The same builder.</returns>
    /// <example><code>
    /// WebApplicationBuilder builder = WebApplication.CreateBuilder(args);
    /// builder.WebHost.UseIoUring();
    /// </code></example>
    public static IWebHostBuilder UseIoUring(this IWebHostBuilder builder, Action<IoUringTransportOptions>? configure = null)
    {
        ArgumentNullException.ThrowIfNull(builder);
        return builder.ConfigureServices(services => services.AddIoUringTransport(configure));
    }

    /// <summary>Serves Kestrel's end points on io_uring, with options from the configuration.</summary>
    /// <param name="builder">The host's builder.</param>
    /// <param name="section">
    /// The options by their names, for example <c>LoopCount=2</c>: a section of the host's configuration, usually
    /// <c>IoUring</c>. <see cref="IoUringTransportOptions"/> says what becomes of wrong values. A key that is no option,
    /// a misspelt one for example, is named in a warning and has no effect.
    /// </param>
    /// <returns>The same builder.</returns>
    /// <example><code>
    /// builder.WebHost.UseIoUring(builder.Configuration.GetSection("IoUring"));
    /// </code></example>
    public static IWebHostBuilder UseIoUring(this IWebHostBuilder builder, IConfiguration section)
    {
        ArgumentNullException.ThrowIfNull(builder);
        return builder.ConfigureServices(services => services.AddIoUringTransport(section));
    }
}
