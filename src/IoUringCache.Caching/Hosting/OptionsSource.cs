using IoUringCache.Caching.Engine;
using IoUringCache.Caching.Options;
using IoUringCache.Caching.Telemetry;
using Microsoft.Extensions.Options;
using Microsoft.Extensions.Primitives;

namespace IoUringCache.Caching.Hosting;

/// <summary>Fills options from a section of the application's configuration. Any thread; one per call of <c>AddStreamingCache</c>.</summary>
internal sealed class OptionsSource(IConfiguration section) : IConfigureOptions<StreamingCacheOptions>
{
    /// <exception cref="OptionsValidationException">A value is not valid, or a name is not one of an option.</exception>
    public void Configure(StreamingCacheOptions options)
    {
        try
        {
            if (OptionNames.FindUnknown(section, OptionValues.CacheSection) is { } unknown)
            {
                throw new OptionException($"Option {unknown} is not known.{OptionNames.Suggest(unknown)}");
            }

            if (OptionCatalog.OfOrigin.FirstOrDefault(option => section[option.LastName] is not null) is { } origin)
            {
                throw new OptionException($"Option {origin.Name} is the service's: an application names its origins in MapStreamingCache.");
            }

            foreach (IConfigurationSection route in section.GetSection(OptionValues.RoutesSection).GetChildren())
            {
                if (OptionCatalog.OfRoutes.Except(OptionCatalog.OfPrefixes).FirstOrDefault(option => route[option.LastName] is not null) is { } own)
                {
                    throw new OptionException(
                        $"Option {OptionValues.CacheSection}:{OptionValues.RoutesSection}:{route.Key}:{own.LastName} is the service's: "
                        + "an application has routes by MapStreamingCache.");
                }
            }

            if (ClusterOptionCatalog.All.FirstOrDefault(option => section[option.Name[(OptionValues.CacheSection.Length + 1)..]] is not null) is { } cluster)
            {
                throw new OptionException($"Option {cluster.Name} is the service's: an application tells its other nodes itself.");
            }

            options.Values.Read(section);
        }
        catch (OptionException failure)
        {
            throw new OptionsValidationException(Microsoft.Extensions.Options.Options.DefaultName, typeof(StreamingCacheOptions), [failure.Message]);
        }
    }
}

/// <summary>Finds values that no text would have given, and those that do not fit together. Stateless; any thread.</summary>
internal sealed class OptionsValidator : IValidateOptions<StreamingCacheOptions>
{
    public ValidateOptionsResult Validate(string? name, StreamingCacheOptions options)
    {
        try
        {
            options.Values.Check();
            _ = CacheSettings.From(options);
            return ValidateOptionsResult.Success;
        }
        catch (OptionException failure)
        {
            return ValidateOptionsResult.Fail(failure.Message);
        }
    }
}

/// <summary>
/// Tells the application's <see cref="IOptionsMonitor{TOptions}"/> that a section has changed, where the new options are valid: the monitor would
/// let the exception about others out on the thread of whoever changed the configuration. Any thread; one per section, from the monitor's first
/// use to the end of the application.
/// </summary>
internal sealed class OptionsChange : IOptionsChangeTokenSource<StreamingCacheOptions>, IDisposable
{
    private readonly IOptionsFactory<StreamingCacheOptions> _options;
    private readonly ILogger _log;
    private readonly IDisposable _following;
    private ConfigurationReloadToken _change = new();

    public OptionsChange(IConfiguration section, IOptionsFactory<StreamingCacheOptions> options, ILogger<CacheEngine> log)
    {
        (_options, _log) = (options, log);
        _following = ChangeToken.OnChange(section.GetReloadToken, OnReloaded);
    }

    public string Name => Microsoft.Extensions.Options.Options.DefaultName;

    public IChangeToken GetChangeToken() => Volatile.Read(ref _change);

    public void Dispose() => _following.Dispose();

    private void OnReloaded()
    {
        try
        {
            _options.Create(Name);
        }
        catch (OptionsValidationException failure)
        {
            CacheLog.NotReloaded(_log, failure.Message);
            return;
        }

        Interlocked.Exchange(ref _change, new()).OnReload();
    }
}

/// <summary>The checked options of an application's cache. Immutable; any thread.</summary>
internal sealed record CacheSettings(CacheOptions Cache, OriginOptions Origin, DiskOptions? Disk)
{
    /// <param name="options">Each valid in itself.</param>
    /// <exception cref="OptionException">Two do not fit together.</exception>
    public static CacheSettings From(StreamingCacheOptions options) =>
        new(new CacheOptions(options.Values), OriginOptions.From(options.Values), DiskOptions.From(options.Values));
}
