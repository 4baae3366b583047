using IoUringCache.Caching;
using IoUringCache.Caching.Engine;
using IoUringCache.Caching.Hosting;
using IoUringCache.Caching.Options;
using IoUringCache.Caching.Storage;
using IoUringCache.Transport;
using Microsoft.Extensions.DependencyInjection.Extensions;
using Microsoft.Extensions.Options;

namespace Microsoft.Extensions.DependencyInjection;

/// <summary>Adds the streaming cache to the services of an application.</summary>
public static class StreamingCacheServiceCollectionExtensions
{
    /// <summary>
    /// Adds the one cache of an application; <c>MapStreamingCache</c> and <c>WithStreamingCache</c> say what it holds. Works on every server;
    /// on Kestrel with <c>UseIoUring</c>, bodies of 256 KiB and more leave without being copied. It uses the application's
    /// <see cref="TimeProvider"/>, if there is one. All calls concern the same cache, whose options (<see cref="StreamingCacheOptions"/>) are
    /// checked when the application starts, which fails with an <see cref="OptionsValidationException"/> that names a wrong one.
    /// </summary>
    /// <param name="services">The application's services.</param>
    /// <param name="section">
    /// The options by their names without a section, for example <c>DefaultTtl=60s</c> or <c>MaxBytes=1GiB</c>: a section of the application's
    /// configuration, usually <c>Cache</c>. Read anew whenever the configuration changes: then the log says what counts only after a restart,
    /// and a wrong value leaves all as it was. Defaults to <see langword="null"/>: none.
    /// </param>
    /// <returns>The same services.</returns>
    /// <example><code>
    /// builder.Services.AddStreamingCache(builder.Configuration.GetSection("Cache"));
    /// </code></example>
    public static IServiceCollection AddStreamingCache(this IServiceCollection services, IConfiguration? section = null)
    {
        ArgumentNullException.ThrowIfNull(services);
        services.AddRouting();
        services.AddOptions<StreamingCacheOptions>();
        services.TryAddSingleton(Open);
        services.TryAddSingleton<IStreamingCache>(static provider => new StreamingCache(provider.GetRequiredService<CacheEngine>()));
        services.TryAddEnumerable(ServiceDescriptor.Singleton<IValidateOptions<StreamingCacheOptions>, OptionsValidator>());
        services.TryAddEnumerable(ServiceDescriptor.Singleton<IHostedService, CacheStart>());
        if (section is not null)
        {
            services.AddSingleton<IConfigureOptions<StreamingCacheOptions>>(new OptionsSource(section));
            services.AddSingleton<IOptionsChangeTokenSource<StreamingCacheOptions>>(
                provider => ActivatorUtilities.CreateInstance<OptionsChange>(provider, section));
        }

        return services;
    }

    /// <summary>Adds the one cache of an application, with options from its code.</summary>
    /// <param name="services">The application's services.</param>
    /// <param name="configure">Sets options; calls count in their order.</param>
    /// <returns>The same services.</returns>
    /// <inheritdoc cref="StreamingCacheOptions" path="/example"/>
    public static IServiceCollection AddStreamingCache(this IServiceCollection services, Action<StreamingCacheOptions> configure)
    {
        ArgumentNullException.ThrowIfNull(configure);
        return services.AddStreamingCache().Configure(configure);
    }

    private static CacheEngine Open(IServiceProvider services)
    {
        IOptionsMonitor<StreamingCacheOptions> options = services.GetRequiredService<IOptionsMonitor<StreamingCacheOptions>>();
        CacheSettings settings = CacheSettings.From(options.CurrentValue);
        try
        {
            bool isOnRing = services.GetService<IoUringTransportInfo>() is not null;
            ILoggerFactory loggers = services.GetRequiredService<ILoggerFactory>();

            // Once, while the application starts: a container makes nothing asynchronously.
            CacheEngine cache = CacheEngine.CreateAsync(
                services.GetService<IHostEnvironment>()?.ApplicationName ?? "",
                settings.Cache,
                settings.Origin,
                settings.Disk,
                isOnRing ? new(settings.Cache.MaxBytes) : BodyMemory.Arrays,
                new(isOnRing ? new(services.GetRequiredService<IOptions<IoUringTransportOptions>>().Value, loggers) : null),
                pausesAccepting: false,
                services.GetService<TimeProvider>() ?? TimeProvider.System,
                loggers).GetAwaiter().GetResult();
            OpenDisk(cache);
            cache.Following = options.OnChange(changed => Reload(cache, CacheSettings.From(changed)));
            return cache;
        }
        catch (OptionException failure)
        {
            throw new OptionsValidationException(nameof(StreamingCacheOptions), typeof(StreamingCacheOptions), [failure.Message]);
        }
    }

    private static void OpenDisk(CacheEngine cache)
    {
        try
        {
            cache.OpenDiskAsync(isSuccessor: false, CancellationToken.None).GetAwaiter().GetResult();
        }
        catch
        {
            cache.DisposeAsync().AsTask().GetAwaiter().GetResult();
            throw;
        }
    }

    private static void Reload(CacheEngine cache, CacheSettings settings) => cache.Reload(settings.Cache, settings.Origin, settings.Disk);
}
