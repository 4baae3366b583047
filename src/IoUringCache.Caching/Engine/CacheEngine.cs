using System.Security.Cryptography.X509Certificates;
using IoUringCache.Caching.Disk;
using IoUringCache.Caching.Files;
using IoUringCache.Caching.Filling;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Http1;
using IoUringCache.Caching.Load;
using IoUringCache.Caching.Options;
using IoUringCache.Caching.Origins;
using IoUringCache.Caching.Serving;
using IoUringCache.Caching.Storage;
using IoUringCache.Caching.Telemetry;

namespace IoUringCache.Caching.Engine;

/// <summary>
/// The parts of one cache, made in the order in which they need each other: its store, its fetches, what serves requests, and the origins. Any
/// thread; one per application, whose services own it.
/// </summary>
internal sealed class CacheEngine : IAsyncDisposable
{
    private readonly DiskOptions? _diskOptions;
    private readonly OriginConnections _connections;
    private readonly ILoggerFactory _loggers;
    private readonly StoreSweep _sweep;
    private readonly FileWriter _files;
    private readonly Lock _lock = new();

    private volatile OriginOptions _originOptions;

    /// <summary>By the addresses of each, so that routes with the same have its circuits in common.</summary>
    private readonly Dictionary<string, HttpOrigin> _origins = [];
    private readonly List<HttpOrigin> _dropped = [];
    private readonly Dictionary<string, ServedDirectory> _directories = [];

    /// <param name="application">Name of the application, which the cache has too unless it has an own one.</param>
    /// <param name="disk">The tier below memory, if there is one; disposed of with this.</param>
    /// <param name="connections">Makes connections to <c>http://</c> origins; disposed of with this.</param>
    /// <param name="pausesAccepting">Whether the transport does so, and connections may have waited for long.</param>
    private CacheEngine(
        string application,
        LiveOptions options,
        OriginOptions originOptions,
        DiskTier? disk,
        DiskOptions? diskOptions,
        PurgeEpochs purges,
        BodyMemory bodies,
        OriginConnections connections,
        bool pausesAccepting,
        TimeProvider time,
        ILoggerFactory loggers)
    {
        (Live, _originOptions, Disk, _diskOptions, Purges, _connections, Time, _loggers) =
            (options, originOptions, disk, diskOptions, purges, connections, time, loggers);
        CacheOptions first = options.Now;
        Ledger = new(first.MaxPinnedBytes) { Bodies = bodies };
        Ledger.Pinned.Cut = count => Metrics.ReadersCut(CutReason.Memory, count);
        Store = new(first.MaxObjects, first.MaxBytes, first.MaxVariants, Ledger) { Below = Disk };
        Kept = new(first.FileValidity, first.MaxBytes, time);
        _sweep = new(Store, purges, time);

        Load = new(options, time);
        Markers = new(options, time);
        OriginAttempts attempts = new(Metrics, options, time, loggers.CreateLogger<OriginAttempts>());
        Fills = new(new(attempts, Store, purges, Markers, Ledger, Metrics, options, time, loggers.CreateLogger<FillServices>(), Disk));
        Purger = new(purges, Fills, Store, Markers, Metrics);
        Waiting = new(options, time);

        ReaderRates = new(options, Metrics, time, loggers.CreateLogger<ReaderRateMonitor>());
        string name = first.Name ?? CacheName.Of(application);
        Proxy proxy = new(name);
        CacheStatus status = new(name);
        Answers = new(status);
        ResponseWriter writer = new(Metrics, options, proxy, ReaderRates);
        UpgradePass upgrades = new(writer, Answers, Metrics, options, time);
        EndUpgrades = upgrades.End;
        PassThrough pass = new(
            writer, upgrades, new(Purger), Markers, Metrics, options, proxy, status, Answers, Load, loggers.CreateLogger<PassThrough>());
        FetchRequests requests = new(options, proxy, Metrics, Load);
        Delivery delivery = new(
            writer, new(writer, Metrics, ReaderRates), new(options, time), new(Store, Fills, Waiting, requests, Metrics), status, Answers, Metrics);
        ObjectEndpoint objects = new(Store, Fills, Markers, Waiting, pass, upgrades, requests, delivery, Metrics, options, proxy, status, Answers, Load, time);
        _files = new(Metrics, ReaderRates);
        Gate = new(Load, Answers, Metrics, pausesAccepting);
        PurgeAnswers = new(Purger, time);
        Objects = Gate.Before(new PurgeMethod(PurgeAnswers, Answers, Metrics, options, time).Before(objects.HandleAsync));
        CacheGauges.Add(this);
        Collector = new(Metrics);
        WarnOfExpired(originOptions.Tls);
    }

    /// <summary>Makes all of it, and opens nothing yet: <see cref="OpenDiskAsync"/> comes before the first request. Parameters as of the constructor.</summary>
    /// <exception cref="OptionException">The disk tier has no ring, or its directory cannot be used.</exception>
    public static async Task<CacheEngine> CreateAsync(
        string application,
        CacheOptions options,
        OriginOptions originOptions,
        DiskOptions? disk,
        BodyMemory bodies,
        OriginConnections connections,
        bool pausesAccepting,
        TimeProvider time,
        ILoggerFactory loggers)
    {
        PurgeEpochs purges = new(time);
        DiskTier? tier = disk is null ? null : await DiskTier.CreateAsync(disk, purges, time, loggers);
        return new(application, new LiveOptions(options), originOptions, tier, disk, purges, bodies, connections, pausesAccepting, time, loggers);
    }

    /// <inheritdoc cref="DiskTier.OpenAsync"/>
    /// <remarks>Does nothing without a disk tier.</remarks>
    public Task OpenDiskAsync(bool isSuccessor, CancellationToken cancellationToken) =>
        Disk?.OpenAsync(isSuccessor, cancellationToken) ?? Task.CompletedTask;

    /// <summary>What tells it of other options, if anybody does; disposed of with this.</summary>
    public IDisposable? Following { get; set; }

    /// <summary>For whoever looks again and again.</summary>
    public LiveOptions Live { get; }

    public CacheOptions Options => Live.Now;

    public TimeProvider Time { get; }

    public CacheMetrics Metrics { get; } = new();

    /// <summary>Its figures and the transport's as text.</summary>
    public MetricsCollector Collector { get; }

    public MemoryLedger Ledger { get; }

    public ObjectStore Store { get; }

    /// <summary>Small files of all directories that are served.</summary>
    public KeptFiles Kept { get; }

    /// <summary><see langword="null"/> without a tier on the disk.</summary>
    public DiskTier? Disk { get; }

    /// <summary>Of the files of that tier.</summary>
    public long? DiskBytes => _diskOptions is null ? null : (long)_diskOptions.SegmentBytes * _diskOptions.SegmentCount;

    public PurgeEpochs Purges { get; }

    public FillTable Fills { get; }

    public Purger Purger { get; }

    /// <summary>Purges that requests ask for.</summary>
    public PurgeAnswer PurgeAnswers { get; }

    public WaitingRoom Waiting { get; }

    public KeyMarkers Markers { get; }

    public LoadGauge Load { get; }

    public ReaderRateMonitor ReaderRates { get; }

    public OwnAnswer Answers { get; }

    /// <summary>In front of everything that it answers.</summary>
    public LoadGate Gate { get; }

    /// <summary>Ends connections of other protocols in order, each at a moment of its own within this time. Called once, as the application stops.</summary>
    public Action<TimeSpan> EndUpgrades { get; }

    /// <summary>Answers requests for objects of any route.</summary>
    public ObjectHandler Objects { get; }

    /// <summary>
    /// Takes other options from now on. What is stored keeps its lifetime; what is above a new limit goes. What only a restart can change is
    /// logged.
    /// </summary>
    public void Reload(CacheOptions options, OriginOptions originOptions, DiskOptions? disk)
    {
        List<string> kept = options.Name == Live.Now.Name ? [] : [OptionCatalog.Name.Name];
        Live.Replace(options);
        Store.Limit(options.MaxObjects, options.MaxBytes, options.MaxVariants);
        Kept.Limit(options.FileValidity, options.MaxBytes);
        Ledger.Pinned.Limit(options.MaxPinnedBytes);
        Ledger.Bodies.Limit(options.MaxBytes);
        if (originOptions != _originOptions)
        {
            _originOptions = originOptions;
            WarnOfExpired(originOptions.Tls);
            lock (_lock)
            {
                foreach (HttpOrigin origin in _origins.Values)
                {
                    origin.Replace(originOptions);
                }
            }
        }

        Fills.Queue.OnLimitsChanged();
        if (disk != _diskOptions)
        {
            kept.Add("Cache:Disk...");
        }

        ILogger log = _loggers.CreateLogger<CacheEngine>();
        CacheLog.Reloaded(log);
        if (kept.Count > 0)
        {
            CacheLog.NeedsRestart(log, string.Join(", ", kept));
        }
    }

    /// <summary>Other options were not valid; logs why.</summary>
    public void RefuseReload(string reason) => CacheLog.NotReloaded(_loggers.CreateLogger<CacheEngine>(), reason);

    /// <summary>All addresses of all HTTP origins.</summary>
    public IReadOnlyList<OriginReplica> Replicas
    {
        get
        {
            lock (_lock)
            {
                return [.. _origins.Values.SelectMany(origin => origin.Replicas.All)];
            }
        }
    }

    /// <summary>The first address of an HTTP origin of which no address may be asked; <see langword="null"/> if there is none such.</summary>
    public string? FindOriginThatIsGone()
    {
        lock (_lock)
        {
            return _origins.Values.FirstOrDefault(static origin => origin.Replicas.All.All(static replica => !replica.Circuit.IsClosed))
                ?.Replicas.All[0].Url;
        }
    }

    /// <summary>The origin with these addresses; made and probed from the first time on.</summary>
    /// <param name="urls">At least one, absolute and without a trailing slash, the preferred one first.</param>
    public IOrigin OriginAt(IReadOnlyList<string> urls)
    {
        string name = string.Join(';', urls);
        lock (_lock)
        {
            if (!_origins.TryGetValue(name, out HttpOrigin? origin))
            {
                origin = new(urls, _originOptions, _connections, Time, _loggers.CreateLogger<HttpOrigin>());
                _origins.Add(name, origin);
            }

            return origin;
        }
    }

    /// <summary>No route leads there any more: its addresses are not probed, and are no figures of the cache.</summary>
    public void DropOrigin(IReadOnlyList<string> urls)
    {
        lock (_lock)
        {
            if (_origins.Remove(string.Join(';', urls), out HttpOrigin? origin))
            {
                origin.StopProbes();
                _dropped.Add(origin);
            }
        }
    }

    /// <summary>Opens a directory from the first time on; it is closed with the cache.</summary>
    /// <exception cref="OptionException">It cannot be served.</exception>
    public ServedDirectory OpenDirectory(string path)
    {
        lock (_lock)
        {
            if (!_directories.TryGetValue(path, out ServedDirectory? directory))
            {
                directory = ServedDirectory.Open(path, Time);
                _directories.Add(path, directory);
            }

            return directory;
        }
    }

    /// <summary>Answers requests for the files of a directory, in the place of objects.</summary>
    public ObjectHandler FilesOf(ServedDirectory directory) => Gate.Before(new FileEndpoint(
        new(directory, Kept, Metrics, Time), _files, Answers, Metrics, Live, _loggers.CreateLogger<FileEndpoint>()).HandleAsync);

    /// <summary>An end point of this process as an origin.</summary>
    public EndpointOrigin OriginIn(RequestDelegate endpoint) =>
        new(endpoint, () => _originOptions.MaxFillAge, Time, _loggers.CreateLogger<EndpointOrigin>());

    /// <summary>Requests have ended. Ends the fetches, then what they need, and saves memory to the disk last.</summary>
    public async ValueTask DisposeAsync()
    {
        Following?.Dispose();
        HttpOrigin[] origins;
        lock (_lock)
        {
            origins = [.. _origins.Values, .. _dropped];
        }

        _sweep.Dispose();
        await Fills.StopAsync();
        ReaderRates.Dispose();
        Collector.Dispose();
        Metrics.Dispose();
        foreach (HttpOrigin origin in origins)
        {
            await origin.DisposeAsync();
        }

        await _connections.DisposeAsync();
        foreach (ServedDirectory directory in _directories.Values)
        {
            directory.Dispose();
        }

        if (Disk is not null)
        {
            try
            {
                await Disk.SaveAsync(Store);
            }
            finally
            {
                await Disk.DisposeAsync();
            }
        }
    }

    /// <summary>By the system's clock, as TLS does.</summary>
    private void WarnOfExpired(OriginTlsOptions options)
    {
        ILogger log = _loggers.CreateLogger<CacheEngine>();
        foreach ((Option option, X509Certificate2 certificate) in options.FindExpired(TimeProvider.System.GetLocalNow().DateTime))
        {
            CacheLog.CertificateExpired(log, option.Name, certificate.Subject, certificate.NotBefore, certificate.NotAfter);
        }
    }
}
