using IoUringCache.Transport;

namespace IoUringCache.Caching.Options;

/// <summary>Every option of the service: name, default, form and meaning in one place. Immutable; any thread.</summary>
internal static class OptionCatalog
{
    private const string DurationForm = "duration";
    internal const string BytesForm = "bytes";
    private const string CountForm = "count";

    public static readonly Option<string> Settings = new(
        "Settings", "appsettings.json", "path",
        "JSON file with options, in the program's directory or with its own; read again on SIGHUP.",
        static text => text.Length > 0 ? text : throw new FormatException("expected the path of a file."));

    public static readonly Option<string[]> Urls = new(
        "Urls", "http://127.0.0.1:8080", "URL[;URL...]", "Public listen addresses.", AddressParser.ListenAddresses);

    public static readonly Option<HttpVersions> Protocols = Choice<HttpVersions>(
        "Protocols", "Http1AndHttp2",
        "HTTP versions served. Without TLS, Http1AndHttp2 means HTTP/1.1; Http2 is h2c with prior knowledge.");

    public static readonly Option<TransportBackend> Transport = Choice<TransportBackend>(
        "Transport", "Auto", "I/O back end of the public addresses; Auto falls back to Sockets and logs the reason.");

    public static readonly Option<ApplicationScheduling> Scheduling = Choice<ApplicationScheduling>(
        "Scheduling", "Adaptive",
        "Where the service's code runs: on the thread pool, on the event loop (Inline), or there until it blocks (Adaptive).");

    public static readonly Option<int?> MaxBusyConnectionsPerLoop = OptionalCount(
        "MaxBusyConnectionsPerLoop",
        "Connections of one event loop with a request in progress above which it gets no new ones, until half are left. Unset: no limit.");

    public static readonly Option<TimeSpan> DrainTimeout = Duration(
        "DrainTimeout", "10s", TimeSpan.Zero, TimeSpan.FromHours(1),
        "On SIGTERM or Ctrl-C: time that responses in progress have before they are cut.");

    public static readonly Option<TimeSpan> DrainDelay = Duration(
        "DrainDelay", "0s", TimeSpan.Zero, TimeSpan.FromHours(1),
        "Start of that: time in which /ready answers 503 and new connections are still accepted, so that load balancers notice.");

    public static readonly Option<string?> HandOver = new(
        "HandOver", "", "path",
        "Unix socket by which a starting process takes the listening sockets over from the running one, which then drains. Empty: none.",
        ValueParser.OptionalSocketPath);

    public static readonly Option<bool> PublicReady = Flag(
        "PublicReady", "Answer /ready on the public addresses too, for load balancers that cannot reach Admin:Url.");

    public static readonly Option<PeerList> ProxyProtocolFrom = Peers(
        "ProxyProtocol:From",
        "Proxies that begin each connection with a PROXY header (v1 or v2) naming the client. Others are refused at these addresses. Empty: none.");

    public static readonly Option<string[]> ProxyProtocolUrls = new(
        "ProxyProtocol:Urls", "", "URL[;URL...]", "Those of Urls that expect the PROXY header. Empty: all of them, where ProxyProtocol:From is set.",
        AddressParser.OptionalListenAddresses);

    public static readonly Option<string?> AdminUrl = new(
        "Admin:Url", "http://127.0.0.1:8081", "URL", "Listen address of the admin endpoints (/metrics, /purge, ...). Empty: none.",
        AddressParser.OptionalPlainListenAddress);

    public static readonly Option<string> AdminToken = Text(
        "Admin:Token", "text", "Bearer token for POST and for endpoints that show keys; set it in the environment as Admin__Token. Unset: they are refused.");

    public static readonly Option<string> AdminTokenFile = Text("Admin:TokenFile", "path", "File that holds the token, instead of Admin:Token.");

    public static readonly Option<string?> OtlpEndpoint = new(
        "Admin:OtlpEndpoint", "", "URL", "OpenTelemetry collector that receives the metrics by OTLP over HTTP at /v1/metrics, and traces at /v1/traces. Empty: none.",
        AddressParser.Origin);

    public static readonly Option<TimeSpan> OtlpInterval = Duration(
        "Admin:OtlpInterval", "60s", TimeSpan.FromMilliseconds(100), TimeSpan.FromHours(1), "Time between two exports of metrics.");

    public static readonly Option<double> OtlpTraces = new(
        "Admin:OtlpTraces", "0", "0 to 1",
        "Share of the requests without a traceparent whose spans are sent to the collector; those with one as its sampled flag says. 0: no spans at all.",
        ValueParser.Share);

    public static readonly Option<OriginAddress> Origin = new(
        "Cache:Origin", "", "URL|file:///directory",
        "Origin; the path after /object/ is appended to its URL. A directory is served directly. Empty: the embedded demo origin.",
        AddressParser.OriginOrDirectory);

    public static readonly Option<string[]> Origins = new(
        "Cache:Origins", "", "URL[;URL...]",
        "Several addresses of one origin, instead of Cache:Origin. A request goes to the first address whose circuit is closed.",
        AddressParser.Origins);

    public static readonly Option<TimeSpan> DefaultTtl = Duration(
        "Cache:DefaultTtl", "0s", TimeSpan.Zero, TimeSpan.FromDays(365),
        "Lifetime of a 200 response without s-maxage, max-age and Expires. With a directory: the max-age that is sent.");

    public static readonly Option<string?> Name = new(
        "Cache:Name", "", "text", "What the cache is called in Cache-Status and Via, where several tiers can be told apart by it. Empty: as the program is.",
        ValueParser.OptionalCacheName);

    public static readonly Option<TimeSpan> FileValidity = Duration(
        "Cache:FileValidity", "1s", TimeSpan.Zero, TimeSpan.FromHours(1),
        "With a directory: how long a file of up to 64KiB is served from memory before it is checked again. 0: check each time.");

    public static readonly Option<TimeSpan?> ForcedTtl = new(
        "Cache:ForcedTtl", "", DurationForm,
        "Lifetime of a response that is no error, whatever its max-age, s-maxage or Expires say; no-store, no-cache and private count. Unset: as it says.",
        static text => text.Length == 0 ? null : ValueParser.Duration(text, TimeSpan.Zero, TimeSpan.FromDays(365)));

    public static readonly Option<IReadOnlySet<int>> NegativeStatuses = new(
        "Cache:NegativeStatuses", "404,410,451", "status[,status...]",
        "Statuses from 400 to 499 that are shared and stored. Any other 4xx goes only to the client that caused it.",
        text => ValueParser.Statuses(text, 400, 499));

    public static readonly Option<TimeSpan> NegativeTtl = Duration(
        "Cache:NegativeTtl", "0s", TimeSpan.Zero, TimeSpan.FromDays(365),
        "Lifetime of a status in Cache:NegativeStatuses if the origin gives none. 0: as for other statuses.");

    public static readonly Option<TimeSpan> ErrorTtl = Duration(
        "Cache:ErrorTtl", "1s", TimeSpan.Zero, TimeSpan.FromDays(365),
        "Lifetime of a 5xx response if the origin gives none; it limits how often a failing origin is asked. 0: as for other statuses.");

    public static readonly Option<TimeSpan> MaxHeuristicTtl = Duration(
        "Cache:MaxHeuristicTtl", "0s", TimeSpan.Zero, TimeSpan.FromDays(365),
        "Upper limit of the lifetime that is guessed as a tenth of Date minus Last-Modified (RFC 9111 4.2.2). 0: no guess.");

    public static readonly Option<TimeSpan> KeepStale = Duration(
        "Cache:KeepStale", "1h", TimeSpan.Zero, TimeSpan.FromDays(365),
        "How long an expired object with ETag or Last-Modified is kept, so that the origin can confirm it with a 304.");

    public static readonly Option<TimeSpan> StaleWhileRevalidate = Duration(
        "Cache:StaleWhileRevalidate", "0s", TimeSpan.Zero, TimeSpan.FromDays(365),
        "How long an expired object is served while it is revalidated, if its Cache-Control does not say. 0: never.");

    public static readonly Option<TimeSpan> StaleIfError = Duration(
        "Cache:StaleIfError", "0s", TimeSpan.Zero, TimeSpan.FromDays(365),
        "How long an expired object is served if the origin fails, if its Cache-Control does not say. 0: never.");

    public static readonly Option<DirectiveUse> RequestDirectives = Choice<DirectiveUse>(
        "Cache:RequestDirectives", "Ignore",
        "Honour: clients may ask for newer or older objects by no-cache, max-age, min-fresh and max-stale. Ignore: they may not.");

    public static readonly Option<string[]> FetchFields = new(
        "Cache:FetchFields", "Accept,Accept-Language,Origin,User-Agent", "name[,name...]",
        "Request fields that a shared fetch sends to the origin, besides those that a Vary of the key names. No others are sent.",
        ValueParser.FetchFields);

    public static readonly Option<bool> UnderscoresInFields = Flag(
        "Cache:UnderscoresInFields",
        "Let passes send request fields with '_' in the name. CGI and WSGI origins read '_' as '-', so a field can imitate another.");

    public static readonly Option<CookieUse> Cookies = Choice<CookieUse>(
        "Cache:Cookies", "Bypass",
        "Bypass: a request with Cookie goes to the origin alone. Share: it gets stored objects, and its response is stored if it is public.");

    public static readonly Option<int> MaxObjects = Count(
        "Cache:MaxObjects", "100000", 1, int.MaxValue,
        "Number of stored objects. Above it, the objects with the fewest requests are evicted first (S3-FIFO).");

    public static readonly Option<int> MaxVariants = Count(
        "Cache:MaxVariants", "16", 1, 1000, "Stored variants (Vary) of one key. Above it, the oldest variant is dropped.");

    public static readonly Option<long> MaxBytes = Bytes(
        "Cache:MaxBytes", "256MiB", "Memory of stored objects or cached files: bodies, headers, keys, tags and a fixed overhead for each.");

    public static readonly Option<long> MaxObjectBytes = Bytes(
        "Cache:MaxObjectBytes", "64MiB", "Largest body that is stored. A larger body is streamed to the clients that wait for it, and not stored.");

    public static readonly Option<long> SliceBytes = new(
        "Cache:SliceBytes", "0", BytesForm,
        "Larger bodies are fetched, stored and evicted by parts of this size, where the origin knows ranges and strong validators; at least 64KiB. 0: never.",
        static text => ValueParser.Bytes(text, 0, 1 << 30) is var bytes and (0 or >= 64 << 10)
            ? bytes : throw new FormatException("expected 0 or 64KiB to 1GiB."));

    public static readonly Option<long> MaxInFlightBytes = Bytes(
        "Cache:MaxInFlightBytes", "256MiB", "Memory of bodies being received. Above it, new fills get 503, and running fills are not stored.");

    public static readonly Option<long> MaxPinnedBytes = Bytes(
        "Cache:MaxPinnedBytes", "256MiB",
        "Memory that only readers still use: evicted, replaced or never stored. Above it, the slowest readers are cut.");

    public static readonly Option<long> ReadAheadBytes = Bytes(
        "Cache:ReadAheadBytes", "1MiB", "Window, besides MaxObjectBytes, in which a body that is not stored may run ahead of its slowest reader.");

    public static readonly Option<int> MaxFills = Count(
        "Cache:MaxFills", "1000", 1, 1_000_000, "Concurrent fills. Above it, new fills wait (Cache:FetchQueueTime) or get 503.");

    public static readonly Option<TimeSpan> FetchQueueTime = Duration(
        "Cache:FetchQueueTime", "0s", TimeSpan.Zero, TimeSpan.FromHours(1),
        "How long a new fill waits for a place when MaxFills, OriginMaxFills or MaxInFlightBytes is reached, before its requests get 503. 0: not at all.");

    public static readonly Option<int> MaxPasses = Count(
        "Cache:MaxPasses", "1000", 1, 1_000_000, "Concurrent passes. Above it, requests that need one get 503.");

    public static readonly Option<int> MaxUpgrades = Count(
        "Cache:MaxUpgrades", "10000", 1, 1_000_000,
        "Concurrent connections of other protocols (Cache:Upgrades), with those that ask for one. Above it, requests that ask get 503.");

    public static readonly Option<int> MaxReadersPerObject = Count(
        "Cache:MaxReadersPerObject", "10000", 1, 1_000_000, "Readers of one fill. Above it, further readers get 503.");

    public static readonly Option<int> MaxWaiters = Count(
        "Cache:MaxWaiters", "100000", 1, int.MaxValue, "Requests that wait for the headers of any fill. Above it, further requests get 503.");

    public static readonly Option<TimeSpan> OverloadDelay = Duration(
        "Cache:OverloadDelay", "100ms", TimeSpan.Zero, TimeSpan.FromHours(1),
        "Delay of an event loop at which new fills get 503; at twice it new waiters too, at four times new connections. 0: no limit.");

    public static readonly Option<TimeSpan> HoldTime = Duration(
        "Cache:HoldTime", "0s", TimeSpan.Zero, TimeSpan.FromHours(1),
        "How long a request waits for a fill's headers before it gets 503; the fill goes on. 0: as long as the fill takes.");

    public static readonly Option<bool> Coalesce = Flag(
        "Cache:Coalesce", "Whether requests for one object, or slice, share one fill. false: each miss starts its own.", defaultText: "true");

    public static readonly Option<bool> PassTrace = Flag(
        "Cache:PassTrace",
        "Whether fetches carry traceparent and tracestate, and passes those of their own span where spans are made. false: passes carry the client's.");

    public static readonly Option<long> MinReaderRate = new(
        "Cache:MinReaderRate", "240", "bytes per second",
        "A client that reads a body more slowly is cut; one that stops, 5 s and up to twice the time for 96 KiB later. 0: no limit.",
        text => ValueParser.Bytes(text, 0, 1L << 40));

    public static readonly Option<TimeSpan> MaxFillAge = Duration(
        "Cache:MaxFillAge", "1d", TimeSpan.FromSeconds(1), TimeSpan.FromDays(365),
        "Longest time from the origin request to the end of its body. A body that takes longer is cut.");

    public static readonly Option<long?> BackgroundFillBytes = new(
        "Cache:BackgroundFillBytes", "", BytesForm,
        "After the last reader has left, a fill goes on if at most this much of its body is missing. Unset: always.",
        text => text.Length == 0 ? null : ValueParser.Bytes(text, 0, 1L << 50));

    public static readonly Option<TimeSpan> HitForMissTtl = Duration(
        "Cache:HitForMissTtl", "2m", TimeSpan.Zero, TimeSpan.FromDays(1),
        "After a response that cannot be shared: how long requests for its key go to the origin without waiting for each other. 0: never.");

    public static readonly Option<int> MaxMarkers = Count(
        "Cache:MaxMarkers", "100000", 1, int.MaxValue, "Keys remembered for Cache:HitForMissTtl. Above it, the oldest is forgotten.");

    public static readonly Option<long> MaxRequestBodyBytes = Bytes(
        "Cache:MaxRequestBodyBytes", "32MiB", "Largest request body, which is streamed to the origin. A larger one gets 413.");

    public static readonly Option<string[]> Upgrades = new(
        "Cache:Upgrades", "websocket", "protocol[,protocol...]",
        "Protocols for which a client may have its connection go through to the origin, if that takes it up (Upgrade). Empty: none.",
        ValueParser.Upgrades);

    public static readonly Option<TimeSpan> UpgradeIdleTimeout = Duration(
        "Cache:UpgradeIdleTimeout", "10m", TimeSpan.FromSeconds(1), TimeSpan.FromDays(7),
        "Time without a byte in either direction after which such a connection is cut.");

    public static readonly Option<PeerList> TrustedProxies = Peers(
        "Cache:TrustedProxies",
        "Proxies in front. Passes extend their X-Forwarded-For, X-Forwarded-Proto and Forwarded, and replace those of others. Empty: none.");

    public static readonly Option<PeerList> ForwardTagsTo = Peers(
        "Cache:ForwardTagsTo", "Caches in front that receive Surrogate-Key, so that they can purge by tag. Other clients do not. Empty: none.");

    public static readonly Option<PeerList> PurgeFrom = Peers(
        "Cache:PurgeFrom",
        "Clients that may purge by the method PURGE on public addresses, tags if they may on all routes; others get 403. Empty: it goes to the origin.");

    public static readonly Option<TimeSpan> RangeHoldTime = Duration(
        "Cache:RangeHoldTime", "5s", TimeSpan.Zero, TimeSpan.FromHours(1),
        "How long a range request waits for its bytes of an unfinished body of unknown length before it gets the whole body.");

    public static readonly Option<int> FillAttempts = Count(
        "Cache:FillAttempts", "2", 1, 10, "Origin requests of one fill. Only a failure before the response headers is tried again.");

    public static readonly Option<TimeSpan> FillRetryDelay = Duration(
        "Cache:FillRetryDelay", "100ms", TimeSpan.Zero, TimeSpan.FromMinutes(1),
        "Delay before a fill tries the same address again, with jitter. It doubles with each attempt, up to 10 s.");

    public static readonly Option<int> FetchResumes = Count(
        "Cache:FetchResumes", "0", 0, 100,
        "How often a body that breaks off is resumed by Range, if it has a length and a strong validator. 0: never, and its readers are cut.");

    public static readonly Option<int> OriginMaxFills = Count(
        "Cache:OriginMaxFills", "1000", 1, 1_000_000,
        "Concurrent fills at one origin address. Above it, the next address is asked; with none left: 503.");

    public static readonly Option<int> OriginMaxPasses = Count(
        "Cache:OriginMaxPasses", "1000", 1, 1_000_000,
        "Concurrent passes at one origin address. Above it, the next address is asked; with none left: 503.");

    public static readonly Option<TimeSpan> OriginConnectTimeout = OriginTimeout(
        "Cache:OriginConnectTimeout", "5s", "Time to connect to the origin, including name resolution and TLS.");

    public static readonly Option<TimeSpan> OriginHeaderTimeout = OriginTimeout(
        "Cache:OriginHeaderTimeout", "30s",
        "Time to the origin's response headers, including the connect. It restarts with each piece of a request body.");

    public static readonly Option<TimeSpan> OriginFirstByteTimeout = OriginTimeout(
        "Cache:OriginFirstByteTimeout", "30s", "Time from the origin's response headers to the first byte of the body.");

    public static readonly Option<TimeSpan> OriginIdleTimeout = OriginTimeout(
        "Cache:OriginIdleTimeout", "30s", "Time between two reads of an origin's body.");

    public static readonly Option<string?> OriginCaFile = OptionalFile(
        "Cache:OriginCaFile", "PEM file with one or more CA certificates that https origins are checked by. Empty: the system's.");

    public static readonly Option<string?> OriginCertificateFile = OptionalFile(
        "Cache:OriginCertificateFile",
        "PEM file with the certificate that the service shows to https origins that ask for one, and its intermediates. Empty: none.");

    public static readonly Option<string?> OriginKeyFile = OptionalFile(
        "Cache:OriginKeyFile", "PEM file with its private key, not encrypted. Empty: it is in Cache:OriginCertificateFile.");

    public static readonly Option<string?> OriginTlsName = new(
        "Cache:OriginTlsName", "", "name",
        "Host name that the certificates of https origins must have, and that is sent as SNI. Empty: the host of each URL.",
        AddressParser.OptionalHostName);

    public static readonly Option<int> OriginEjectAfter = Count(
        "Cache:OriginEjectAfter", "5", 0, 1_000_000,
        "Failures in a row (no connection, no headers; with several addresses also bad responses) that open an address's circuit. 0: never.");

    public static readonly Option<TimeSpan> OriginEjectTime = OriginTimeout(
        "Cache:OriginEjectTime", "10s",
        "How long an open circuit stops requests to its address; then one request tries it. With no address left: 503.");

    public static readonly Option<string?> OriginProbePath = new(
        "Cache:OriginProbePath", "", "path",
        "Path that is requested of every origin address as a health probe. Anything but 2xx and 3xx is a failure. Empty: no probes.",
        AddressParser.OptionalPath);

    public static readonly Option<TimeSpan> OriginProbeInterval = OriginTimeout(
        "Cache:OriginProbeInterval", "5s", "Time from the response to a probe to the next probe.");

    /// <summary>Those that name the service's origin, and what it does beside the cache.</summary>
    public static readonly IReadOnlyList<Option> OfOrigin = [Origin, Origins, .. KeyOptionCatalog.All, .. RouteOptionCatalog.General];

    /// <summary>Those that a route of a library's cache may have for itself: its place and its origin are the application's.</summary>
    public static readonly IReadOnlyList<Option> OfPrefixes =
    [
        RouteOptionCatalog.Prefix, ForcedTtl, DefaultTtl, NegativeStatuses, NegativeTtl, ErrorTtl, MaxHeuristicTtl, KeepStale, StaleWhileRevalidate, StaleIfError,
        Cookies, HoldTime, MinReaderRate, Coalesce, PassTrace, PurgeFrom, SliceBytes, .. CompressionOptionCatalog.All,
    ];

    /// <summary>Those that a route of the service may have for itself.</summary>
    public static readonly IReadOnlyList<Option> OfRoutes =
        [.. RouteOptionCatalog.Place.Union(OfPrefixes).Union(OfOrigin).Except([KeyOptionCatalog.PublicPath, RouteOptionCatalog.ErrorPageDirectory])];

    /// <summary>Those of the cache, in the order of <c>--help</c>.</summary>
    public static readonly IReadOnlyList<Option> OfCache =
    [
        .. OfOrigin, Name, FileValidity, ForcedTtl, DefaultTtl, NegativeStatuses, NegativeTtl, ErrorTtl, MaxHeuristicTtl,
        KeepStale, StaleWhileRevalidate, StaleIfError, RequestDirectives, FetchFields, UnderscoresInFields, Cookies,
        MaxObjects, MaxVariants, MaxBytes, MaxObjectBytes, SliceBytes, MaxInFlightBytes, MaxPinnedBytes, ReadAheadBytes,
        MaxFills, FetchQueueTime, MaxPasses, MaxUpgrades, MaxReadersPerObject, MaxWaiters, OverloadDelay, HoldTime, Coalesce, PassTrace, MinReaderRate, MaxFillAge, BackgroundFillBytes,
        HitForMissTtl, MaxMarkers, MaxRequestBodyBytes, Upgrades, UpgradeIdleTimeout, TrustedProxies, ForwardTagsTo, PurgeFrom,
        .. CompressionOptionCatalog.All, RangeHoldTime, FillAttempts, FillRetryDelay, FetchResumes,
        OriginMaxFills, OriginMaxPasses,
        OriginConnectTimeout, OriginHeaderTimeout, OriginFirstByteTimeout, OriginIdleTimeout,
        OriginCaFile, OriginCertificateFile, OriginKeyFile, OriginTlsName,
        OriginEjectAfter, OriginEjectTime, OriginProbePath, OriginProbeInterval,
        .. DiskOptionCatalog.All,
    ];

    /// <summary>All of them but the routes', in the order of <c>--help</c>.</summary>
    public static readonly IReadOnlyList<Option> All =
    [
        Settings, Urls, Protocols, Transport, Scheduling, MaxBusyConnectionsPerLoop, DrainTimeout, DrainDelay, HandOver, PublicReady,
        ProxyProtocolFrom, ProxyProtocolUrls, AdminUrl, AdminToken, AdminTokenFile, OtlpEndpoint, OtlpInterval, OtlpTraces,
        .. AccessLogOptionCatalog.All, .. OfCache, .. ClusterOptionCatalog.All,
    ];

    internal static Option<T> Choice<T>(string name, string defaultText, string help)
        where T : struct, Enum => new(name, defaultText, string.Join('|', Enum.GetNames<T>()), help, ValueParser.Choice<T>);

    internal static Option<TimeSpan> Duration(string name, string defaultText, TimeSpan minimum, TimeSpan maximum, string help) =>
        new(name, defaultText, DurationForm, help, text => ValueParser.Duration(text, minimum, maximum));

    private static Option<TimeSpan> OriginTimeout(string name, string defaultText, string help) =>
        Duration(name, defaultText, TimeSpan.FromMilliseconds(1), TimeSpan.FromHours(1), help);

    internal static Option<long> Bytes(string name, string defaultText, string help) =>
        new(name, defaultText, BytesForm, help, text => ValueParser.Bytes(text, 1, 1L << 50));

    internal static Option<bool> Flag(string name, string help, string defaultText = "false") =>
        new(name, defaultText, "true|false", help, ValueParser.Flag);

    internal static Option<PeerList> Peers(string name, string help) => new(name, "", "address|network|unix[;...]", help, PeerList.Parse);

    internal static Option<string> Text(string name, string form, string help) => new(name, "", form, help, static text => text);

    internal static Option<string?> OptionalText(string name, string form, string help) =>
        new(name, "", form, help, static text => text.Length == 0 ? null : text);

    internal static Option<string?> OptionalFile(string name, string help) => OptionalText(name, "path", help);

    internal static Option<int?> OptionalCount(string name, string help) =>
        new(name, "", CountForm, help, text => text.Length == 0 ? null : ValueParser.Count(text, 1, 1_000_000));

    internal static Option<int> Count(string name, string defaultText, int minimum, int maximum, string help) =>
        new(name, defaultText, CountForm, help, text => ValueParser.Count(text, minimum, maximum));
}
