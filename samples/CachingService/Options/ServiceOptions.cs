using IoUringCache.Caching.Options;
using IoUringCache.Caching.Serving;
using IoUringCache.Clustering;
using IoUringCache.Transport;

namespace CachingService.Options;

/// <summary>Checked values of all options; meanings and units in <see cref="OptionCatalog"/>. Immutable; any thread.</summary>
/// <param name="Configuration">All sources of the options.</param>
/// <param name="Values">Of the cache's section. Read by the initializers alone.</param>
/// <param name="Urls">The public addresses.</param>
internal sealed record ServiceOptions(IConfiguration Configuration, OptionValues Values, string[] Urls)
{
    public HttpVersions Protocols { get; init; } = OptionCatalog.Protocols.Read(Configuration);

    public TransportBackend Transport { get; init; } = OptionCatalog.Transport.Read(Configuration);

    public ApplicationScheduling Scheduling { get; init; } = OptionCatalog.Scheduling.Read(Configuration);

    public int? MaxBusyConnectionsPerLoop { get; init; } = OptionCatalog.MaxBusyConnectionsPerLoop.Read(Configuration);

    public TimeSpan DrainTimeout { get; init; } = OptionCatalog.DrainTimeout.Read(Configuration);

    public TimeSpan DrainDelay { get; init; } = OptionCatalog.DrainDelay.Read(Configuration);

    /// <summary>An absolute path; <see langword="null"/>: no process takes over from another.</summary>
    public string? HandOver { get; init; } = OptionCatalog.HandOver.Read(Configuration);

    public bool PublicReady { get; init; } = OptionCatalog.PublicReady.Read(Configuration);

    /// <summary>The last is what no route is for, unless only routes have origins.</summary>
    public ServiceRoute[] Routes { get; init; } = ServiceRoute.From(Values);

    /// <summary>As their files were when the options were read.</summary>
    public ErrorPages ErrorPages { get; init; } =
        Values.Get(RouteOptionCatalog.ErrorPageDirectory) is { } directory ? ErrorPages.Read(directory) : ErrorPages.None;

    /// <summary><see langword="null"/>: no connection begins with a PROXY header.</summary>
    public ProxyProtocolOptions? ProxyProtocol { get; init; } = ProxyProtocolOptions.Read(Configuration, Urls);

    public AdminOptions Admin { get; init; } = AdminOptions.Read(Configuration);

    /// <summary><see langword="null"/>: none.</summary>
    public AccessLogOptions? AccessLog { get; init; } = AccessLogOptions.Read(Configuration);

    public CacheOptions Cache { get; init; } = new(Values);

    public OriginOptions Origin { get; init; } = OriginOptions.From(Values);

    /// <summary><see langword="null"/>: no disk tier.</summary>
    public DiskOptions? Disk { get; init; } = DiskOptions.From(Values);

    /// <summary><see langword="null"/>: one node alone.</summary>
    public ClusterOptions? Cluster { get; init; } = ClusterOptions.Read(Configuration, NodeOf(Urls[0]));

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
        ServiceOptions options = new(configuration, cache, OptionCatalog.Urls.Read(configuration));
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
