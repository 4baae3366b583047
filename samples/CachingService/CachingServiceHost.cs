using System.Diagnostics.Metrics;
using System.Net.Sockets;
using System.Security.Cryptography;
using CachingService.Demo;
using CachingService.Options;
using IoUringCache.Caching.Admin;
using IoUringCache.Caching.Disk;
using IoUringCache.Caching.Files;
using IoUringCache.Caching.Filling;
using IoUringCache.Caching.Load;
using IoUringCache.Caching.Options;
using IoUringCache.Caching.Origins;
using IoUringCache.Caching.Serving;
using IoUringCache.Caching.Storage;
using IoUringCache.Caching.Telemetry;
using IoUringCache.Transport;
using OpenTelemetry.Metrics;

namespace CachingService;

/// <summary>
/// A running service: the public application, the admin application, the demo origin where none is configured, or the directory that is
/// served in the place of one, and what they share. Any thread; owned by <c>Program</c>, or by a test.
/// </summary>
internal sealed class CachingServiceHost : IAsyncDisposable
{
    private const string SettingsFile = "appsettings.json";

    private readonly ServiceOptions _options;
    private readonly TimeProvider _time;
    private readonly MetricsCollector _collector;
    private readonly MeterProvider? _export;
    private readonly DemoOrigin? _demo;
    private readonly ServedDirectory? _directory;
    private readonly OriginReplicas _replicas;
    private readonly OriginClient _origin;
    private readonly OriginProbe _probe;
    private readonly StoreSweep _sweep;
    private readonly WebApplication _public;
    private readonly WebApplication? _admin;
    private readonly DiskStack? _disk;

    private CachingServiceHost(
        ServiceOptions options,
        IConfiguration configuration,
        DemoOrigin? demo,
        ServedDirectory? directory,
        DiskStack? disk,
        PurgeEpochs purges,
        TimeProvider time,
        Action<ILoggingBuilder> configureLogging)
    {
        (_options, _demo, _directory, _disk, _time, Purges) = (options, demo, directory, disk, time, purges);
        IReadOnlyList<string> urls = demo is null ? options.Origin.Urls : [demo.Url];
        _replicas = new(urls, options.Origin, time);
        _origin = new(_replicas, options.Origin, time);
        _probe = new(_origin, _replicas, options.Origin, time);
        Ledger = new(options.Cache.MaxPinnedBytes)
        {
            Bodies = options.Transport == TransportBackend.Sockets ? BodyMemory.Arrays : new(options.Cache.MaxBytes),
        };
        Ledger.Pinned.Cut = Metrics.ReadersCut;
        Store = new(options.Cache.MaxObjects, options.Cache.MaxBytes, options.Cache.MaxVariants, Ledger) { Below = Disk };
        Kept = new(options.Cache.FileValidity, options.Cache.MaxBytes, time);
        _sweep = new(Store, purges, time);
        _public = PublicApplication.Build(options, configuration, configureLogging, services => AddShared(services, urls), HandlerOfObjects);
        Fills = _public.Services.GetRequiredService<FillTable>();
        Purger = _public.Services.GetRequiredService<Purger>();
        Waiting = _public.Services.GetRequiredService<WaitingRoom>();
        Markers = _public.Services.GetRequiredService<KeyMarkers>();
        Load = _public.Services.GetRequiredService<LoadGauge>();
        ReaderRates = _public.Services.GetRequiredService<ReaderRateMonitor>();
        _origin.Ejected = LogEjection;
        AddGauges();
        _collector = new(Metrics);
        AdminServices operated = new(Store, Fills, Markers, Purger, Metrics, _collector, time, _public.Lifetime);
        _admin = options.Admin.Url is { } url ? AdminApplication.Build(url, options.Admin, operated, configureLogging) : null;
        _export = options.Admin.OtlpEndpoint is { } endpoint ? OtlpExport.Start(Metrics, endpoint, options.Admin.OtlpInterval) : null;
    }

    /// <summary>Somebody has asked for the end, by a signal or by <c>POST /drain</c>.</summary>
    private CancellationToken Stopping => _public.Lifetime.ApplicationStopping;

    public CacheMetrics Metrics { get; } = new();

    public MemoryLedger Ledger { get; }

    public ObjectStore Store { get; }

    /// <summary>Empty where no directory is served.</summary>
    public KeptFiles Kept { get; }

    /// <summary><see langword="null"/> without <c>Cache:DiskPath</c>.</summary>
    public DiskTier? Disk => _disk?.Tier;

    public PurgeEpochs Purges { get; }

    public FillTable Fills { get; }

    public Purger Purger { get; }

    public WaitingRoom Waiting { get; }

    public KeyMarkers Markers { get; }

    public LoadGauge Load { get; }

    public ReaderRateMonitor ReaderRates { get; }

    /// <summary>First public address, with the port that was bound.</summary>
    public string Url => _public.Urls.First();

    /// <summary>Admin address with the port that was bound; <see langword="null"/> without an admin listener.</summary>
    public string? AdminUrl => _admin?.Urls.First();

    /// <summary>Reads the options and starts everything.</summary>
    /// <param name="args">Command line.</param>
    /// <param name="time">Clock of freshness and of the origin's time-outs. Defaults to the system's.</param>
    /// <param name="configureLogging">Replaces the console. For tests.</param>
    /// <exception cref="OperationCanceledException">A signal has asked for the end while it started.</exception>
    /// <exception cref="OptionException">An option is wrong, or its address cannot be listened on.</exception>
    /// <exception cref="PlatformNotSupportedException">io_uring is required and not available.</exception>
    public static async Task<CachingServiceHost> StartAsync(
        string[] args, TimeProvider? time = null, Action<ILoggingBuilder>? configureLogging = null)
    {
        IConfiguration configuration = ReadConfiguration(args);
        ServiceOptions options = ServiceOptions.Read(configuration);
        configureLogging ??= logging => logging

            // The host gives every request an Activity where this category could log anything; Kestrel tells of what fails as well. Before
            // the configuration, which may ask for it.
            .AddFilter("Microsoft.AspNetCore.Hosting.Diagnostics", LogLevel.None)
            .AddConfiguration(configuration.GetSection("Logging"))

            // Repeats with a stack what stops the start; the program says it in a sentence.
            .AddFilter("Microsoft.Extensions.Hosting.Internal.Host", LogLevel.None)
            .AddSimpleConsole(console => console.SingleLine = true);
        configureLogging += UnfailingLoggers.Wrap;

        time ??= TimeProvider.System;
        ServedDirectory? directory = options.Origin.Directory is { } path ? ServedDirectory.Open(path, time) : null;
        PurgeEpochs purges = new(time);
        DiskStack? disk = options.Disk is null ? null : await DiskStack.OpenAsync(options.Disk, purges, time, configureLogging);
        bool isDemo = directory is null && options.Origin.Urls.Count == 0;
        DemoOrigin? demo = isDemo ? await DemoOrigin.StartAsync(configureLogging) : null;
        CachingServiceHost host = new(options, configuration, demo, directory, disk, purges, time, configureLogging);
        try
        {
            await host.StartAsync();
            string origin = demo is not null ? $"{demo.Url} (embedded demo)"
                : directory is not null ? $"{options.Origin.Directory} (a directory)"
                : string.Join(';', options.Origin.Urls);
            HostLog.Started(host._public.Logger, host.Url, host.AdminUrl ?? "none", origin);
            return host;
        }
        catch
        {
            await host.DisposeAsync();
            throw;
        }
    }

    /// <summary>
    /// Waits for SIGTERM, Ctrl-C or <c>POST /drain</c> and drains: not ready at once; after <c>DrainDelay</c> no new connections, and what is
    /// in progress may end until the deadline.
    /// </summary>
    public async Task WaitForShutdownAsync()
    {
        TaskCompletionSource asked = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using (Stopping.Register(asked.SetResult))
        {
            await asked.Task;
        }

        HostLog.Draining(_public.Logger, _options.DrainDelay, _options.DrainTimeout);
        await Task.Delay(_options.DrainDelay, _time);
        await _public.StopAsync();
    }

    /// <summary>Drains as a signal does.</summary>
    public Task StopAsync()
    {
        _public.Lifetime.StopApplication();
        return WaitForShutdownAsync();
    }

    public void LogIgnoredHangUp() => HostLog.HangUpIgnored(_public.Logger);

    public async ValueTask DisposeAsync()
    {
        await _public.DisposeAsync();
        await _probe.DisposeAsync();
        _sweep.Dispose();
        await Fills.StopAsync();
        if (_admin is not null)
        {
            // Before the disk: a purge in progress is answered when the disk has it.
            await _admin.DisposeAsync();
        }

        if (_disk is not null)
        {
            await _disk.DisposeAsync();
        }

        _export?.Dispose();
        _collector.Dispose();
        Metrics.Dispose();
        _origin.Dispose();
        _directory?.Dispose();
        if (_demo is not null)
        {
            await _demo.DisposeAsync();
        }
    }

    /// <summary>What the public application has in common with the rest of the service.</summary>
    private void AddShared(IServiceCollection services, IReadOnlyList<string> urls)
    {
        services
            .AddSingleton(_time)
            .AddSingleton(_options.Cache)
            .AddSingleton(_origin)
            .AddSingleton(new KeySpace(urls))
            .AddSingleton(Metrics)
            .AddSingleton(Ledger)
            .AddSingleton(Purges)
            .AddSingleton(Store);
        if (Disk is not null)
        {
            services.AddSingleton(Disk);
        }
    }

    /// <summary>What answers requests for objects: the cache, or the directory in the place of an origin.</summary>
    private ObjectHandler HandlerOfObjects(IServiceProvider services) => _directory is null
        ? services.GetRequiredService<ObjectEndpoint>().HandleAsync
        : ActivatorUtilities.CreateInstance<FileEndpoint>(
            services, new FileLookup(_directory, Kept, Metrics, _time)).HandleAsync;

    private void LogEjection(OriginReplica replica)
    {
        (TimeSpan time, int failures) = (_options.Origin.EjectTime, _options.Origin.EjectAfter);
        if (replica.Circuit.IsUnreachable)
        {
            HostLog.Ejected(_public.Logger, replica.Url, time, failures);
        }
        else
        {
            HostLog.Avoided(_public.Logger, replica.Url, time, failures);
        }
    }

    private async Task StartAsync()
    {
        if (_admin is not null)
        {
            await ListenAsync(_admin, OptionCatalog.AdminUrl, _options.Admin.Url!);
        }

        await ListenAsync(_public, OptionCatalog.Urls, string.Join(';', _options.Urls));
        _probe.Start();

        // A signal is heard by each application that has begun to start. One that came before the public one did would be lost.
        _demo?.Stopping.Register(_public.Lifetime.StopApplication);
        _admin?.Lifetime.ApplicationStopping.Register(_public.Lifetime.StopApplication);
    }

    /// <summary>Starts one application. Whatever keeps it from listening is told with the option that asked for it.</summary>
    private static async Task ListenAsync(WebApplication application, Option option, string addresses)
    {
        try
        {
            await application.StartAsync();
        }
        catch (Exception failure) when (failure is InvalidOperationException or IOException or SocketException
            or CryptographicException)
        {
            // In use, not of this machine, not allowed, https without a certificate, whose explanation goes on for lines.
            throw new OptionException($"Option {option.Name}: cannot listen on '{addresses}': {failure.Message.Split('\n')[0].Trim()}");
        }
    }

    private static IConfiguration ReadConfiguration(string[] args)
    {
        IConfigurationBuilder builder = new ConfigurationBuilder()
            .SetBasePath(AppContext.BaseDirectory)
            .AddJsonFile(SettingsFile, optional: true)
            .AddEnvironmentVariables("ASPNETCORE_")
            .AddEnvironmentVariables()
            .AddInMemoryCollection(CommandLine.Parse(args));
        try
        {
            return builder.Build();
        }
        catch (Exception failure) when (failure is InvalidDataException or IOException or UnauthorizedAccessException)
        {
            throw new OptionException($"{SettingsFile}: {failure.GetBaseException().Message}");
        }
    }

    private void AddGauges()
    {
        Metrics.Gauge("cache.fills.active", "{fill}", "Fills in flight.", () => Fills.ActiveCount);
        Metrics.Gauge("cache.objects", "{object}", "Objects stored.", () => Store.Count);
        Metrics.Gauge("cache.stored", "By", "Memory of stored objects.", () => Ledger.StoredBytes);
        Metrics.Gauge("cache.in_flight", "By", "Memory of bodies being received.", () => Ledger.InFlightBytes);
        Metrics.Gauge("cache.pinned", "By", "Memory that only readers keep.", () => Ledger.PinnedBytes);
        Metrics.Gauge("cache.files.kept", "{file}", "Small files in memory, and names of neighbours that are not there.", () => Kept.Count);
        Metrics.Gauge("cache.files.memory", "By", "Memory of these.", () => Kept.Bytes);
        Metrics.Gauge("cache.waiters", "{request}", "Requests that wait for the headers of a fill.", () => Waiting.Count);
        Metrics.Gauge("cache.overload.step", "{step}", "What is shed: 1 new fills, 2 new waiters, 3 new connections, 4 half of all.",
            () => (long)Load.Highest);
        Metrics.Gauge("cache.overload.delay.microseconds", "us", "How late the latest of the event loops was.",
            () => (long)Load.LongestDelay.TotalMicroseconds);
        Metrics.Count("cache.overload.refusals", "{request}", "Answered 503 because an event loop was too late.", () => Load.Refusals);
        Metrics.Gauge("cache.markers", "{key}", "Keys remembered because their answers cannot be kept.", () => Markers.Count);
        Metrics.Count("cache.markers.found", "{request}", "Went to the origin at once because of a marker.", () => Markers.Found);
        Metrics.Count("process.allocated", "By", "Managed memory allocated by the process.", () => GC.GetTotalAllocatedBytes());
        Metrics.Count("cache.inserted", "{object}", "Objects put into the store, confirmed ones anew.", () => Store.Inserted);
        Metrics.Count("cache.replaced", "{object}", "Objects whose place a newer one took, or the same one, confirmed.", () => Store.Replaced);
        Metrics.Count("cache.removed", "{object}", "Objects removed because of their key: purged, invalidated, or changed at the origin.",
            () => Store.Removed);
        Metrics.Count("cache.evictions", "{object}", "Objects evicted to make room.", () => Store.Evictions);
        Metrics.Count("cache.expired", "{object}", "Objects removed because their use had ended.", () => Store.Expired);
        Metrics.Count("cache.purges", "{purge}", "Purges of everything, of a tag, and soft ones of a key.", () => Purges.Current);
        Metrics.Count("cache.purged", "{object}", "Objects removed because everything or a tag of theirs was purged.", () => Store.Purged);
        Metrics.Gauge("cache.tags", "{tag}", "Tags in use, and some that were.", () => Purges.TagCount);
        Metrics.Gauge("cache.tags.memory", "By", "Memory of the tags of stored objects, a part of cache.stored.", () => Store.Tags.Bytes);
        Metrics.Count("cache.variants.evicted", "{object}", "Objects dropped because their key had too many variants.", () => Store.VariantEvictions);
        Metrics.Count("cache.origin.replica.failures", "{failure}", "Failures of each address of the origin, probes included.",
            () => _replicas.All.Select(replica => Tag(replica, replica.Circuit.Failures)));
        Metrics.Gauge("cache.origin.replica.ejected", "{origin}", "1 for an address of the origin whose circuit is open or half-open.",
            () => _replicas.All.Select(replica => Tag(replica, replica.Circuit.IsClosed ? 0 : 1)));
        Metrics.Gauge("cache.origin.replica.clock_offset.seconds", "s", "How far our clock is ahead of the Date of each address of the origin.",
            () => _replicas.All.Select(replica => Tag(replica, replica.ClockOffset)));

        if (Disk is { } disk)
        {
            Metrics.Gauge("cache.disk.objects", "{object}", "Objects on the disk, or on their way there.", () => disk.Count);
            Metrics.Gauge("cache.disk.waiting", "By", "Memory of evicted objects that wait to be written.", () => disk.WaitingBytes);
            Metrics.Gauge("cache.disk.tags.memory", "By", "Memory of the tags of objects on the disk.", () => disk.TagBytes);
            Metrics.Count("cache.disk.promotions", "{object}", "Objects that came back from the disk.", () => disk.Metrics.Promotions);
            Metrics.Count("cache.disk.demotions", "{object}", "Evicted objects that were written.", () => disk.Metrics.Demotions);
            Metrics.Count("cache.disk.read", "By", "Bytes of bodies read.", () => disk.Metrics.ReadBytes);
            Metrics.Count("cache.disk.written", "By", "Bytes written, padding and headers included.", () => disk.Metrics.WrittenBytes);
            Metrics.Count(
                "cache.disk.drops", "{object}", "Objects that are not on the disk any more, or not at all, by reason.", () => disk.Metrics.Drops);
        }

        static Measurement<long> Tag(OriginReplica replica, long value) =>
            new(value, new KeyValuePair<string, object?>("origin", replica.Url));
    }
}
