using IoUringCache.Caching;
using IoUringCache.Caching.Engine;
using IoUringCache.Caching.Hosting;
using IoUringCache.Caching.Options;
using IoUringCache.Caching.Storage;
using IoUringCache.Transport;
using Microsoft.Extensions.DependencyInjection.Extensions;
using Microsoft.Extensions.Options;
using Microsoft.Extensions.Primitives;

namespace Microsoft.Extensions.DependencyInjection;

/// <summary>Adds the streaming cache to the services of an application.</summary>
public static class StreamingCacheServiceCollectionExtensions
{
    /// <summary>
    /// Adds the one cache of an application; <c>MapStreamingCache</c> and <c>WithStreamingCache</c> say what it holds. Works on every server;
    /// on Kestrel with <c>UseIoUring</c>, bodies of 256 KiB and more leave without being copied. It uses the application's
    /// <see cref="TimeProvider"/>, if there is one. May be called once.
    /// </summary>
    /// <param name="services">The application's services.</param>
    /// <param name="section">
    /// The options by their names without a section, for example <c>DefaultTtl=60s</c> or <c>MaxBytes=1GiB</c>: a section of the application's
    /// configuration, usually <c>Cache</c>. Read when the application starts, which fails with an <see cref="OptionsValidationException"/> that
    /// names an option that is wrong or not known; and anew whenever the configuration changes: then the log says what counts only after a
    /// restart, and a wrong value leaves all as it was. Defaults to <see langword="null"/>: all options have their defaults.
    /// </param>
    /// <returns>The same services.</returns>
    /// <example><code>
    /// builder.Services.AddStreamingCache(builder.Configuration.GetSection("Cache"));
    /// </code></example>
    public static IServiceCollection AddStreamingCache(this IServiceCollection services, IConfiguration? section = null)
    {
        ArgumentNullException.ThrowIfNull(services);
        services.AddRouting();
        services.TryAddSingleton(provider => Open(provider, section ?? new ConfigurationBuilder().Build()));
        services.TryAddSingleton<IStreamingCache>(static provider => new StreamingCache(provider.GetRequiredService<CacheEngine>()));
        services.TryAddEnumerable(ServiceDescriptor.Singleton<IHostedService, CacheStart>());
        return services;
    }

    private static CacheEngine Open(IServiceProvider services, IConfiguration section)
    {
        try
        {
            CacheSettings settings = CacheSettings.Read(section);
            bool lends = services.GetService<IoUringTransportInfo>() is not null;

            // Once, while the application starts: a container makes nothing asynchronously.
            CacheEngine cache = CacheEngine.OpenAsync(
                settings.Cache,
                settings.Origin,
                settings.Disk,
                lends ? new(settings.Cache.MaxBytes) : BodyMemory.Arrays,
                pausesAccepting: false,
                services.GetService<TimeProvider>() ?? TimeProvider.System,
                services.GetRequiredService<ILoggerFactory>()).GetAwaiter().GetResult();
            cache.Following = ChangeToken.OnChange(section.GetReloadToken, () => Reload(cache, section));
            return cache;
        }
        catch (OptionException failure)
        {
            throw new OptionsValidationException(nameof(IStreamingCache), typeof(IStreamingCache), [failure.Message]);
        }
    }

    private static void Reload(CacheEngine cache, IConfiguration section)
    {
        try
        {
            CacheSettings settings = CacheSettings.Read(section);
            cache.Reload(settings.Cache, settings.Origin, settings.Disk);
        }
        catch (OptionException failure)
        {
            cache.RefuseReload(failure);
        }
    }
}
