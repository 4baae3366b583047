using IoUringCache.Transport;
using IoUringCache.Transport.Internal.Hosting;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Hosting;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection.Extensions;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;

namespace Microsoft.Extensions.DependencyInjection;

/// <summary>Adds the io_uring transport to the services of a host.</summary>
public static class IoUringServiceCollectionExtensions
{
    /// <summary>
    /// Adds Kestrel's io_uring transport, as
    /// <see cref="WebHostBuilderIoUringExtensions.UseIoUring(IWebHostBuilder, Action{IoUringTransportOptions})"/> does,
    /// for hosts that are configured by their services. May be called before or after Kestrel and <c>UseSockets</c> are
    /// added, and more than once.
    /// </summary>
    /// <param name="services">The host's services.</param>
    /// <param name="configure">
    /// Sets options. They start from what <c>UseSockets</c> configured; this action and other calls that configure
    /// <see cref="IoUringTransportOptions"/> run in the order in which they were added, before or after this one. The
    /// start of the server validates them: an <see cref="OptionsValidationException"/> names the option that is wrong.
    /// </param>
    /// <returns>The same services.</returns>
    /// <example><code>
    /// builder.Services.AddIoUringTransport(options => options.LoopCount = 2);
    /// </code></example>
    public static IServiceCollection AddIoUringTransport(this IServiceCollection services, Action<IoUringTransportOptions>? configure = null)
    {
        ArgumentNullException.ThrowIfNull(services);

        // UseSockets adds the services that the fallback needs, and its transport once: a later call only configures
        // it. Kestrel asks the transport that was registered last first.
        new ServicesOnlyWebHostBuilder(services).UseSockets();
        services.TryAddEnumerable(ServiceDescriptor.Singleton<IConnectionListenerFactory, IoUringTransportFactory>());
        services.TryAddSingleton(static _ => new IoUringTransportInfo());
        AddOptions(services, configure);
        return services;
    }

    /// <summary>Adds Kestrel's io_uring transport, with options from the configuration.</summary>
    /// <param name="services">The host's services.</param>
    /// <param name="section">
    /// The options by their names, for example <c>LoopCount=2</c>: a section of the host's configuration, usually
    /// <c>IoUring</c>. <see cref="IoUringTransportOptions"/> says what becomes of wrong values. A key that is no option,
    /// a misspelt one for example, is named in a warning and has no effect.
    /// </param>
    /// <returns>The same services.</returns>
    /// <example><code>
    /// builder.Services.AddIoUringTransport(builder.Configuration.GetSection("IoUring"));
    /// </code></example>
    public static IServiceCollection AddIoUringTransport(this IServiceCollection services, IConfiguration section)
    {
        ArgumentNullException.ThrowIfNull(section);
        services.AddIoUringTransport();
        return services.AddSingleton<IConfigureOptions<IoUringTransportOptions>>(provider =>
            new IoUringTransportSection(section, provider.GetService<ILoggerFactory>()));
    }

    /// <summary>
    /// Adds <see cref="IoUringConnectionFactory"/>, also as <see cref="IConnectionFactory"/> if there is none yet, as a
    /// singleton that ends with the services, which are therefore disposed asynchronously. With a server of the same
    /// services it shares the event loops. May be called more than once.
    /// </summary>
    /// <param name="services">The services, of a host or of another application.</param>
    /// <param name="configure">
    /// Sets options; as for <see cref="AddIoUringTransport(IServiceCollection, Action{IoUringTransportOptions})"/>, with
    /// which they are shared. The first use of the factory validates them.
    /// </param>
    /// <returns>The same services.</returns>
    /// <example><code>
    /// builder.Services.AddIoUringConnectionFactory(options => options.ConnectTimeout = TimeSpan.FromSeconds(5));
    /// </code></example>
    public static IServiceCollection AddIoUringConnectionFactory(this IServiceCollection services, Action<IoUringTransportOptions>? configure = null)
    {
        ArgumentNullException.ThrowIfNull(services);
        services.AddOptions();
        services.TryAddSingleton(static provider => new IoUringConnectionFactory(
            provider.GetRequiredService<IOptions<IoUringTransportOptions>>().Value, provider.GetService<ILoggerFactory>()));
        services.TryAddSingleton<IConnectionFactory>(static provider => provider.GetRequiredService<IoUringConnectionFactory>());
        AddOptions(services, configure);
        return services;
    }

    private static void AddOptions(IServiceCollection services, Action<IoUringTransportOptions>? configure)
    {
        // First of all that configure these options, earlier calls included: it sets the values that they start from.
        services.Insert(0, ServiceDescriptor.Singleton<IConfigureOptions<IoUringTransportOptions>, IoUringTransportOptionsSetup>());
        services.TryAddEnumerable(ServiceDescriptor.Singleton<IValidateOptions<IoUringTransportOptions>, IoUringTransportOptionsSetup>());
        if (configure is not null)
        {
            services.Configure(configure);
        }
    }
}
