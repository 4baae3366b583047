using System.Net.Sockets;
using System.Security.Cryptography;
using CachingService.Demo;
using CachingService.Listening;
using CachingService.Logs;
using CachingService.Options;
using CachingService.Routes;
using IoUringCache.Caching.Engine;
using IoUringCache.Caching.Options;
using IoUringCache.Caching.Serving;
using IoUringCache.Caching.Storage;
using IoUringCache.Caching.Telemetry;
using IoUringCache.Clustering;
using IoUringCache.Transport;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.Options;

namespace CachingService;

/// <summary>
/// A running service: the cache, the public and the admin application, and the demo origin where none is configured. Any thread; owned by
/// <c>Program</c>, or by a test.
/// </summary>
internal sealed class CachingServiceHost : IAsyncDisposable
{
    private readonly string[] _args;
    private readonly ServiceOptions _options;
    private readonly RouteMap _routes;
    private readonly TargetGate _gate;
    private readonly OtlpExport? _export;
    private readonly DemoOrigin? _demo;
    private readonly ILoggerFactory _loggers;
    private readonly ServerCertificates _certificates;
    private readonly AccessLog? _accessLog;
    private readonly RunningService? _running;
    private readonly ListenSockets _sockets;
    private readonly Drain _drain = new(PurgeMethod.Name);
    private readonly Drain _adminDrain = new(HttpMethods.Post);
    private readonly WebApplication _public;
    private readonly WebApplication? _admin;
    private HandOverListener? _handOver;

    private CachingServiceHost(
        string[] args,
        ServiceOptions options,
        DemoOrigin? demo,
        ILoggerFactory loggers,
        CacheEngine cache,
        PurgeCluster? cluster,
        LogFile? accessLog,
        RunningService? running,
        Action<ILoggingBuilder> configureLogging)
    {
        (_args, _options, _demo, _loggers, Cache, Cluster, _running) = (args, options, demo, loggers, cache, cluster, running);
        _sockets = ListenSockets.OfProcess(running?.Sockets ?? []);
        Cache.Answers.Pages = options.ErrorPages;
        _routes = new(cache, demo?.Url);
        _gate = new(cache.Answers, _routes.Make(options.Routes), HealthEndpoints.PathsOf(options));
        _accessLog = accessLog is null
            ? null
            : new(accessLog, options.AccessLog!, () => cache.Live.Now.TrustedProxies, cache.Metrics, loggers.CreateLogger<AccessLog>());
        _certificates = new(options.Configuration, cache.Time, loggers.CreateLogger<ServerCertificates>());
        bool isHeld = running is not null;
        _public = PublicApplication.Build(
            options, configureLogging, Cache, Cluster, _certificates, _gate, _accessLog, _sockets, _drain, isHeld);
        _admin = options.Admin.Url is { } url
            ? AdminApplication.Build(url, options.Admin, Cache, cluster, _public.Lifetime, configureLogging, _sockets, _adminDrain, isHeld)
            : null;
        _export = OtlpExport.Start(Metrics, options.Admin);
    }

    public CacheEngine Cache { get; }

    /// <summary>The other nodes; <see langword="null"/> for one node alone.</summary>
    public PurgeCluster? Cluster { get; }

    public CacheMetrics Metrics => Cache.Metrics;

    /// <summary>First public address, with the port that was bound.</summary>
    public string Url => _public.Urls.First();

    /// <summary>Of the public server. A change counts for new connections.</summary>
    public KestrelServerLimits Limits => _public.Services.GetRequiredService<IOptions<KestrelServerOptions>>().Value.Limits;

    /// <summary>Admin address with the port that was bound; <see langword="null"/> without an admin listener.</summary>
    public string? AdminUrl => _admin?.Urls.First();

    /// <summary>Reads the options and starts everything.</summary>
    /// <param name="time">Clock of freshness and of the origin's time-outs. Defaults to the system's.</param>
    /// <param name="configureLogging">Replaces the console. For tests.</param>
    /// <exception cref="OperationCanceledException">A signal has asked for the end while it started.</exception>
    /// <exception cref="OptionException">An option is wrong, or its address cannot be listened on.</exception>
    /// <exception cref="PlatformNotSupportedException">io_uring is required and not available.</exception>
    public static async Task<CachingServiceHost> StartAsync(
        string[] args, TimeProvider? time = null, Action<ILoggingBuilder>? configureLogging = null)
    {
        ServiceOptions options = OptionSources.Read(args);
        configureLogging ??= logging => LoggingOptions.Apply(options.Configuration, logging);
        configureLogging += UnfailingLoggers.Wrap;

        RunningService? running = options.HandOver is { } path ? RunningService.Find(path) : null;
        ILoggerFactory loggers = LoggerFactory.Create(configureLogging);
        LogFile? accessLog = options.AccessLog is null ? null : new(options.AccessLog);
        IoUringTransportOptions transport = new();
        options.Configure(transport);
        CacheEngine cache = await CacheEngine.CreateAsync(
            nameof(CachingService),
            options.Cache,
            options.Origin,
            options.Disk,
            options.Transport == TransportBackend.Sockets ? BodyMemory.Arrays : new(options.Cache.MaxBytes),
            new(options.Transport == TransportBackend.Sockets ? null : new(transport, loggers)),
            options.MaxBusyConnectionsPerLoop is not null,
            time ?? TimeProvider.System,
            loggers);
        PurgeCluster? cluster = options.Cluster is null ? null : new(options.Cluster, cache, loggers);
        DemoOrigin? demo = options.IsDemo ? await DemoOrigin.StartAsync(configureLogging) : null;
        CachingServiceHost host = new(args, options, demo, loggers, cache, cluster, accessLog, running, configureLogging);
        try
        {
            await host.StartAsync();
            string origin = demo is not null
                ? $"{demo.Url} (embedded demo)"
                : string.Join(", ", options.Routes.Select(static route => route.Origin.ToString()).Distinct());
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
    /// Waits for SIGTERM, Ctrl-C or <c>POST /drain</c> and drains: not ready at once; after <c>DrainDelay</c> no new connections, clients are
    /// asked to leave, and what is in progress may end until the deadline.
    /// </summary>
    public async Task WaitForShutdownAsync()
    {
        TaskCompletionSource asked = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using (_public.Lifetime.ApplicationStopping.Register(asked.SetResult))
        {
            await asked.Task;
        }

        if (_handOver is not null)
        {
            await _handOver.DisposeAsync();
        }

        // Load balancers need not notice where another process accepts already.
        TimeSpan delay = _drain.HasSuccessor ? TimeSpan.Zero : _options.DrainDelay;
        HostLog.Draining(_public.Logger, delay, _options.DrainTimeout);
        await Task.Delay(delay, Cache.Time);

        // Not before: their clients would connect here again.
        Cache.EndUpgrades(_options.DrainTimeout / 2);
        using CancellationTokenSource deadline = new(_options.DrainTimeout);
        await _drain.BeginAsync(GateOf(_public));
        await _drain.WaitAsync(deadline.Token);
        await _public.StopAsync(deadline.Token);
    }

    /// <summary>Drains as a signal does.</summary>
    public Task StopAsync()
    {
        _public.Lifetime.StopApplication();
        return WaitForShutdownAsync();
    }

    /// <summary>Reads the options anew, routes and their origins among them. What was wrong, and what only a restart can change, is logged.</summary>
    public void Reload()
    {
        try
        {
            ServiceOptions next = OptionSources.Read(_args);

            // First: where a certificate cannot be taken, nothing else has changed.
            _certificates.Renew(next.Configuration);
            if (next.IsDemo == _options.IsDemo)
            {
                _gate.Table = _routes.Make(next.Routes);
            }

            Cache.Reload(next.Cache, next.Origin, next.Disk);
            Cache.Answers.Pages = next.ErrorPages;
            Limits.MinResponseDataRate = ReaderRate.ForKestrel(next.Cache.Routes.LowestReaderRate);
            Limits.MaxRequestBodySize = next.Cache.MaxRequestBodyBytes;

            if (_options.FindFixed(next) is { Length: > 0 } names)
            {
                HostLog.NeedsRestart(_public.Logger, string.Join(", ", names));
            }
        }
        catch (OptionException failure)
        {
            Cache.RefuseReload(failure.Message);
        }
    }

    /// <summary>Goes on in the file of the access log that has its name now.</summary>
    public void ReopenLogs() => _accessLog?.Reopen();

    public async ValueTask DisposeAsync()
    {
        if (_handOver is not null)
        {
            await _handOver.DisposeAsync();
        }

        // Unless it has been told that this process is ready, the service before goes on.
        _running?.Dispose();
        _sockets.Dispose();
        await _public.DisposeAsync();
        _routes.Dispose();
        await _certificates.DisposeAsync();
        if (_accessLog is not null)
        {
            await _accessLog.DisposeAsync();
        }

        if (_admin is not null)
        {
            // Before the disk: a purge in progress is answered when the disk has it.
            await _admin.DisposeAsync();
        }

        _export?.Dispose();
        if (Cluster is not null)
        {
            await Cluster.DisposeAsync();
        }

        await Cache.DisposeAsync();
        _loggers.Dispose();
        if (_demo is not null)
        {
            await _demo.DisposeAsync();
        }
    }

    private async Task StartAsync()
    {
        // A running process may have the files of the disk tier, and has to end first.
        if (_running is null || Cache.Disk is null)
        {
            await OpenCacheAsync(isSuccessor: false);
        }

        if (_options.HandOver is { } path)
        {
            _handOver = _sockets.EndPointsOfSystemd.Count == 0
                ? new(path, _sockets, GiveWayAsync, _loggers.CreateLogger<HandOverListener>())
                : throw new OptionException($"Option {OptionCatalog.HandOver.Name}: is not needed with socket activation, which keeps the sockets open.");
        }

        if (_admin is not null)
        {
            await ListenAsync(_admin, OptionCatalog.AdminUrl, _options.Admin.Url!);
        }

        await ListenAsync(_public, OptionCatalog.Urls, string.Join(';', _options.Urls));

        // A signal is heard by each application that has begun to start. One that came before the public one did would be lost.
        _demo?.Stopping.Register(_public.Lifetime.StopApplication);
        _admin?.Lifetime.ApplicationStopping.Register(_public.Lifetime.StopApplication);
        if (_running is not null)
        {
            await TakeOverAsync(_running);
        }

        _handOver?.Publish();
    }

    /// <summary>The disk tier first, since the cluster's log is applied to what is there.</summary>
    private async Task OpenCacheAsync(bool isSuccessor)
    {
        CancellationToken stopping = _public.Lifetime.ApplicationStopping;
        await Cache.OpenDiskAsync(isSuccessor, stopping);
        await (Cluster?.StartAsync(stopping) ?? Task.CompletedTask);
    }

    /// <summary>Accepts when the process before does so no more; meanwhile clients wait in the queues of the sockets.</summary>
    private async Task TakeOverAsync(RunningService running)
    {
        ILogger log = _loggers.CreateLogger<RunningService>();
        int count = running.Sockets.Count;
        if (_sockets.TakeOver() is { Count: > 0 } unused)
        {
            HostLog.GaveUp(log, string.Join(", ", unused));
            count -= unused.Count;
        }

        string? fault = await running.TakeOverAsync();
        if (Cache.Disk is not null)
        {
            await OpenCacheAsync(isSuccessor: true);
        }

        await Task.WhenAll(Applications.Select(static application => GateOf(application).BeginAsync()));
        if (fault is null)
        {
            HostLog.TookOver(log, count);
        }
        else
        {
            HostLog.NotConfirmed(log, fault);
        }
    }

    /// <summary>Another process is ready: accepts no more, and begins to drain.</summary>
    private async Task GiveWayAsync()
    {
        (_drain.HasSuccessor, _adminDrain.HasSuccessor) = (true, true);
        _sockets.GiveAway();
        await _drain.BeginAsync(GateOf(_public));
        if (_admin is not null)
        {
            await _adminDrain.BeginAsync(GateOf(_admin));
        }

        _public.Lifetime.StopApplication();
    }

    private IEnumerable<WebApplication> Applications => _admin is null ? [_public] : [_public, _admin];

    private static AcceptGate GateOf(WebApplication application) => application.Services.GetRequiredService<AcceptGate>();

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
}
