using IoUringCache.Caching.Options;
using IoUringCache.Clustering;
using IoUringCache.Transport;

namespace CachingService.Options;

/// <summary>Checked values of all options; meanings and units in <see cref="OptionCatalog"/>. Immutable; any thread.</summary>
internal sealed record ServiceOptions
{
    public required string[] Urls { get; init; }

    public required HttpVersions Protocols { get; init; }

    public required TransportBackend Transport { get; init; }

    public required ApplicationScheduling Scheduling { get; init; }

    public required int? MaxBusyConnectionsPerLoop { get; init; }

    public required TimeSpan DrainTimeout { get; init; }

    public required TimeSpan DrainDelay { get; init; }

    /// <summary>An absolute path; <see langword="null"/>: no process takes over from another.</summary>
    public required string? HandOver { get; init; }

    public required bool PublicReady { get; init; }

    /// <summary>The last is what no route is for, unless only routes have origins.</summary>
    public required ServiceRoute[] Routes { get; init; }

    /// <summary>Where the objects are.</summary>
    public required string PublicPath { get; init; }

    /// <summary><see langword="null"/>: no bodies of errors.</summary>
    public required string? ErrorPages { get; init; }

    /// <summary><see langword="null"/>: no connection begins with a PROXY header.</summary>
    public required ProxyProtocolOptions? ProxyProtocol { get; init; }

    public required AdminOptions Admin { get; init; }

    /// <summary><see langword="null"/>: none.</summary>
    public required AccessLogOptions? AccessLog { get; init; }

    public required CacheOptions Cache { get; init; }

    public required OriginOptions Origin { get; init; }

    /// <summary><see langword="null"/>: no disk tier.</summary>
    public required DiskOptions? Disk { get; init; }

    /// <summary><see langword="null"/>: one node alone.</summary>
    public required ClusterOptions? Cluster { get; init; }

    /// <summary>No origin is named: the embedded one takes the place.</summary>
    public bool IsDemo => Routes.All(static route => route.Origin.IsNone);

    /// <exception cref="OptionException">
    /// A value is not valid or contradicts another, an option of the service's own sections, a log level or form is unknown, or a certificate cannot
    /// be used.
    /// </exception>
    public static ServiceOptions Read(IConfiguration configuration)
    {
        RefuseUnknown(configuration, OptionValues.CacheSection);
        RefuseUnknown(configuration, "Admin");
        RefuseUnknown(configuration, "ProxyProtocol");
        RefuseUnknown(configuration, "AccessLog");
        LoggingOptions.Check(configuration);
        CertificateOptions.Check(configuration);
        OptionValues cache = new(OptionValues.CacheSection);
        cache.Read(configuration.GetSection(OptionValues.CacheSection));
        string[] urls = OptionCatalog.Urls.Read(configuration);
        ServiceOptions options = new()
        {
            Urls = urls,
            Protocols = OptionCatalog.Protocols.Read(configuration),
            Transport = OptionCatalog.Transport.Read(configuration),
            Scheduling = OptionCatalog.Scheduling.Read(configuration),
            MaxBusyConnectionsPerLoop = OptionCatalog.MaxBusyConnectionsPerLoop.Read(configuration),
            DrainTimeout = OptionCatalog.DrainTimeout.Read(configuration),
            DrainDelay = OptionCatalog.DrainDelay.Read(configuration),
            HandOver = OptionCatalog.HandOver.Read(configuration),
            PublicReady = OptionCatalog.PublicReady.Read(configuration),
            Routes = ServiceRoute.From(cache),
            PublicPath = cache.Get(KeyOptionCatalog.PublicPath),
            ErrorPages = cache.Get(RouteOptionCatalog.ErrorPageDirectory),
            ProxyProtocol = ProxyProtocolOptions.Read(configuration, urls),
            Admin = AdminOptions.Read(configuration),
            AccessLog = AccessLogOptions.Read(configuration),
            Cache = CacheOptions.From(cache),
            Origin = OriginOptions.From(cache),
            Disk = DiskOptions.From(cache),
            Cluster = ClusterOptions.Read(configuration, NodeOf(urls[0])),
        };
        options.RefuseContradictions();
        return options;
    }

    /// <summary>Sets what concerns the transport, alike for both sides of the cache: so they have the same event loops.</summary>
    public void Configure(IoUringTransportOptions transport) =>
        (transport.Backend, transport.ApplicationScheduling, transport.MaxBusyConnectionsPerLoop) = (Transport, Scheduling, MaxBusyConnectionsPerLoop);

    /// <summary>The names of options that have another value there, and are read only at the start.</summary>
    public string[] FindFixed(ServiceOptions next) =>
    [
        .. new (Option Option, bool IsSame)[]
        {
            (OptionCatalog.Urls, Urls.AsSpan().SequenceEqual(next.Urls)),
            (OptionCatalog.Protocols, Protocols == next.Protocols),
            (OptionCatalog.Transport, Transport == next.Transport),
            (OptionCatalog.Scheduling, Scheduling == next.Scheduling),
            (OptionCatalog.MaxBusyConnectionsPerLoop, MaxBusyConnectionsPerLoop == next.MaxBusyConnectionsPerLoop),
            (OptionCatalog.DrainTimeout, DrainTimeout == next.DrainTimeout),
            (OptionCatalog.DrainDelay, DrainDelay == next.DrainDelay),
            (OptionCatalog.HandOver, HandOver == next.HandOver),
            (OptionCatalog.PublicReady, PublicReady == next.PublicReady),
            (OptionCatalog.ProxyProtocolFrom, ProxyProtocol == next.ProxyProtocol),
            (OptionCatalog.AdminUrl, Admin.Url == next.Admin.Url),
            (OptionCatalog.AdminToken, Admin.Token == next.Admin.Token),
            (AccessLogOptionCatalog.Path, AccessLog == next.AccessLog),
            (OptionCatalog.OtlpEndpoint, Admin.OtlpEndpoint == next.Admin.OtlpEndpoint),
            (ClusterOptionCatalog.Nats, Cluster == next.Cluster),
            (OptionCatalog.OtlpInterval, Admin.OtlpInterval == next.Admin.OtlpInterval),
            (OptionCatalog.OtlpTraces, Admin.OtlpTraces == next.Admin.OtlpTraces),
            (OptionCatalog.MaxRequestBodyBytes, Cache.MaxRequestBodyBytes == next.Cache.MaxRequestBodyBytes),
            (KeyOptionCatalog.PublicPath, PublicPath == next.PublicPath),
            (OptionCatalog.Origin, IsDemo == next.IsDemo),
        }.Where(static item => !item.IsSame).Select(static item => item.Option.Name),
    ];

    private void RefuseContradictions()
    {
        if (Disk is not null && Routes.All(static route => route.Origin.Directory is not null))
        {
            throw new OptionException(
                $"Option {DiskOptionCatalog.Path.Name}: cannot be given where {OptionCatalog.Origin.Name} is a directory: nothing is stored.");
        }

        if (HandOver is not null && Disk is not null)
        {
            throw new OptionException(
                $"Option {OptionCatalog.HandOver.Name}: cannot be given with {DiskOptionCatalog.Path.Name}: two processes cannot have one disk tier open. Use socket activation.");
        }
    }

    /// <summary>What tells this node from others, on this machine and elsewhere.</summary>
    private static string NodeOf(string url)
    {
        BindingAddress address = BindingAddress.Parse(url);
        return $"{Environment.MachineName}:{(address.IsUnixPipe ? address.UnixPipePath : address.Port)}";
    }

    private static void RefuseUnknown(IConfiguration configuration, string section)
    {
        if (OptionNames.FindUnknown(configuration.GetSection(section), section) is { } name)
        {
            throw new OptionException($"Option {name} is not known.{OptionNames.Suggest(name)} Run with --help for the list.") { Name = name };
        }
    }
}
