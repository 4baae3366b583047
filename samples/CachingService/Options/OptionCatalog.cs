using IoUringCache.Transport;

namespace CachingService.Options;

/// <summary>Every option of the service: name, default, form and meaning in one place. Immutable; any thread.</summary>
internal static class OptionCatalog
{
    private const string DurationForm = "duration";
    private const string BytesForm = "bytes";
    private const string CountForm = "count";

    public static readonly Option<string[]> Urls = new(
        "Urls", "http://127.0.0.1:8080", "URL[;URL...]", "Public listen addresses.", AddressParser.ListenAddresses);

    public static readonly Option<HttpVersions> Protocols = Choice<HttpVersions>(
        "Protocols", "Http1AndHttp2",
        "HTTP versions served. Without TLS, Http1AndHttp2 means HTTP/1.1; Http2 is h2c with prior knowledge.");

    public static readonly Option<TransportBackend> Transport = Choice<TransportBackend>(
        "Transport", "Auto", "I/O back end of the public addresses; Auto falls back to Sockets and logs the reason.");

    public static readonly Option<ApplicationScheduling> Scheduling = Choice<ApplicationScheduling>(
        "Scheduling", "Adaptive", "Where the service's code runs: thread pool, event loop, or event loop until it blocks.");

    public static readonly Option<int?> LoopBacklogHighMark = OptionalCount(
        "LoopBacklogHighMark", "Connections of one event loop with a request in progress above which it gets no new ones. Unset: no limit.");

    public static readonly Option<int?> LoopBacklogLowMark = OptionalCount(
        "LoopBacklogLowMark", "So many below which it gets new ones again. Unset: half of LoopBacklogHighMark.");

    public static readonly Option<TimeSpan> DrainTimeout = Duration(
        "DrainTimeout", "10s", TimeSpan.Zero, TimeSpan.FromHours(1),
        "On SIGTERM or Ctrl-C: how long answers in progress may take before they are cut.");

    public static readonly Option<TimeSpan> DrainDelay = Duration(
        "DrainDelay", "0s", TimeSpan.Zero, TimeSpan.FromHours(1),
        "Before that: how long new connections are still accepted while /ready says 503, so that load balancers learn of it.");

    public static readonly Option<bool> PublicReady = new(
        "PublicReady", "false", "true|false", "Whether the public addresses answer /ready too, for load balancers that cannot reach Admin:Url.",
        ValueParser.Flag);

    public static readonly Option<string?> AdminUrl = new(
        "Admin:Url", "http://127.0.0.1:8081", "URL", "Listen address of the operator's side (/metrics, /purge, ...). Empty: none.",
        AddressParser.OptionalPlainListenAddress);

    public static readonly Option<string> AdminToken = new(
        "Admin:Token", "", "text",
        "What POST and all that shows keys want as Authorization: Bearer. From the environment (Admin__Token). Unset: they are refused.",
        static text => text);

    public static readonly Option<string> AdminTokenFile = new(
        "Admin:TokenFile", "", "path", "A file with the token, instead of Admin:Token.", static text => text);

    public static readonly Option<string?> OtlpEndpoint = new(
        "Admin:OtlpEndpoint", "", "URL", "OpenTelemetry collector to which the metrics go, by OTLP over HTTP at /v1/metrics. Empty: none.",
        AddressParser.Origin);

    public static readonly Option<TimeSpan> OtlpInterval = Duration(
        "Admin:OtlpInterval", "60s", TimeSpan.FromMilliseconds(100), TimeSpan.FromHours(1), "Time between two exports to it.");

    public static readonly Option<OriginAddress> Origin = new(
        "Cache:Origin", "", "URL|file:///directory",
        "Origin; the bytes after /object/ are appended to it and a slash. A directory is served itself. Empty: the embedded demo origin.",
        AddressParser.OriginOrDirectory);

    public static readonly Option<string[]> Origins = new(
        "Cache:Origins", "", "URL[;URL...]",
        "Several addresses of the origin with the same objects, instead of Cache:Origin: the first whose circuit is closed is asked.",
        AddressParser.Origins);

    public static readonly Option<TimeSpan> DefaultTtl = Duration(
        "Cache:DefaultTtl", "0s", TimeSpan.Zero, TimeSpan.FromDays(365),
        "Lifetime of a 200 whose origin gives none (no s-maxage, max-age, Expires); of files, sent as max-age.");

    public static readonly Option<TimeSpan> FileValidity = Duration(
        "Cache:FileValidity", "1s", TimeSpan.Zero, TimeSpan.FromHours(1),
        "Of a directory: how long a file of up to 64KiB is served from memory before it is looked at again. 0: not at all.");

    public static readonly Option<IReadOnlySet<int>> NegativeStatuses = new(
        "Cache:NegativeStatuses", "404,410,451", "status[,status...]",
        "Statuses from 400 to 499 that are shared and stored. The others may be about one request alone: only its client gets them.",
        text => ValueParser.Statuses(text, 400, 499));

    public static readonly Option<TimeSpan> NegativeTtl = Duration(
        "Cache:NegativeTtl", "0s", TimeSpan.Zero, TimeSpan.FromDays(365),
        "Lifetime of a status of Cache:NegativeStatuses whose origin gives none. 0: as of other statuses.");

    public static readonly Option<TimeSpan> ErrorTtl = Duration(
        "Cache:ErrorTtl", "1s", TimeSpan.Zero, TimeSpan.FromDays(365),
        "Lifetime of a 5xx whose origin gives none: how often an origin that fails is asked again. 0: as of other statuses.");

    public static readonly Option<TimeSpan> MaxHeuristicTtl = Duration(
        "Cache:MaxHeuristicTtl", "0s", TimeSpan.Zero, TimeSpan.FromDays(365),
        "Without a lifetime from the origin: a tenth of Date minus Last-Modified, at most this. 0: no guessing.");

    public static readonly Option<TimeSpan> KeepStale = Duration(
        "Cache:KeepStale", "1h", TimeSpan.Zero, TimeSpan.FromDays(365),
        "How long an object with ETag or Last-Modified is kept after its lifetime, so that the origin need only confirm it.");

    public static readonly Option<TimeSpan> StaleWhileRevalidate = Duration(
        "Cache:StaleWhileRevalidate", "0s", TimeSpan.Zero, TimeSpan.FromDays(365),
        "How long after its lifetime an object is served while the origin is asked, where it does not say itself. 0: not at all.");

    public static readonly Option<TimeSpan> StaleIfError = Duration(
        "Cache:StaleIfError", "0s", TimeSpan.Zero, TimeSpan.FromDays(365),
        "How long after its lifetime an object is served if the origin fails, where it does not say itself. 0: not at all.");

    public static readonly Option<DirectiveUse> RequestDirectives = Choice<DirectiveUse>(
        "Cache:RequestDirectives", "Ignore",
        "Whether clients may ask by no-cache, max-age, min-fresh and max-stale for something newer, or older, than the origin says.");

    public static readonly Option<string[]> FetchFields = new(
        "Cache:FetchFields", "Accept,Accept-Language,Origin,User-Agent", "name[,name...]",
        "Request fields that go with a fetch for all who wait, besides those that a Vary of its key names. No other field of a client does.",
        ValueParser.FetchFields);

    public static readonly Option<bool> UnderscoresInFields = new(
        "Cache:UnderscoresInFields", "false", "true|false",
        "Whether request fields with '_' in the name reach the origin, with requests that go there alone. CGI and WSGI origins read it as '-'.",
        ValueParser.Flag);

    public static readonly Option<CookieUse> Cookies = Choice<CookieUse>(
        "Cache:Cookies", "Bypass",
        "Requests with Cookie go to the origin alone; with Share they get what is stored, and their own answers are stored if they say public.");

    public static readonly Option<int> MaxObjects = Count(
        "Cache:MaxObjects", "100000", 1, int.MaxValue, "Stored objects; with more, those that are asked for least go first (S3-FIFO).");

    public static readonly Option<int> MaxVariants = Count(
        "Cache:MaxVariants", "16", 1, 1000, "Stored objects of one key that differ by request fields (Vary); more drop the oldest of them.");

    public static readonly Option<long> MaxBytes = Bytes(
        "Cache:MaxBytes", "256MiB", "Memory of all stored objects, or kept files: bodies, headers, keys, tags and a fixed overhead for each.");

    public static readonly Option<long> MaxObjectBytes = Bytes(
        "Cache:MaxObjectBytes", "64MiB", "Body of one object. A larger one is streamed to those who wait for it and not stored.");

    public static readonly Option<long> MaxInFlightBytes = Bytes(
        "Cache:MaxInFlightBytes", "256MiB", "Memory of bodies being received; above it new fills get 503 and running ones are not stored.");

    public static readonly Option<long> MaxPinnedBytes = Bytes(
        "Cache:MaxPinnedBytes", "256MiB",
        "Memory of what only readers keep: evicted, replaced or never stored. Over it, the readers that lag most are cut.");

    public static readonly Option<long> ReadAheadBytes = Bytes(
        "Cache:ReadAheadBytes", "1MiB", "How far a body that will not be stored may run ahead of its fastest reader.");

    public static readonly Option<int> MaxFills = Count(
        "Cache:MaxFills", "1000", 1, 1_000_000, "Fills at a time; more get 503.");

    public static readonly Option<int> MaxPasses = Count(
        "Cache:MaxPasses", "1000", 1, 1_000_000, "Requests at a time that go to the origin alone; more get 503.");

    public static readonly Option<int> MaxReadersPerObject = Count(
        "Cache:MaxReadersPerObject", "10000", 1, 1_000_000, "Readers of one fill; more get 503.");

    public static readonly Option<int> MaxWaiters = Count(
        "Cache:MaxWaiters", "100000", 1, int.MaxValue, "Requests at a time that wait for the headers of any fill; more get 503.");

    public static readonly Option<TimeSpan> OverloadDelay = Duration(
        "Cache:OverloadDelay", "100ms", TimeSpan.Zero, TimeSpan.FromHours(1),
        "How late an event loop may be. Later, new fills get 503; by twice that new waiters too, by four times new connections. 0: no limit.");

    public static readonly Option<TimeSpan> HoldTime = Duration(
        "Cache:HoldTime", "0s", TimeSpan.Zero, TimeSpan.FromHours(1),
        "How long a request waits for a fill's headers before it gets 503; the fill goes on. 0: as long as its attempts take. Per route.");

    public static readonly Option<bool> Coalesce = new(
        "Cache:Coalesce", "true", "true|false", "Whether requests for an object share one fill; otherwise each miss starts its own. Per route.",
        ValueParser.Flag);

    public static readonly Option<long> MinReaderRate = new(
        "Cache:MinReaderRate", "240", "bytes per second",
        "A client that takes a body more slowly is cut; one that stops, after 5 s and the time for 64 KiB at this rate. 0: no limit. Per route.",
        text => ValueParser.Bytes(text, 0, 1L << 40));

    public static readonly Option<TimeSpan> MaxFillAge = Duration(
        "Cache:MaxFillAge", "1d", TimeSpan.FromSeconds(1), TimeSpan.FromDays(365),
        "Time after which a body that is still coming is cut, since the origin was asked.");

    public static readonly Option<long> BackgroundFillBytes = new(
        "Cache:BackgroundFillBytes", "", BytesForm,
        "When all readers have left, a body that can be stored is still received if no more than this is missing. Unset: always.",
        text => text.Length == 0 ? long.MaxValue : ValueParser.Bytes(text, 0, 1L << 50));

    public static readonly Option<TimeSpan> HitForMissTtl = Duration(
        "Cache:HitForMissTtl", "2m", TimeSpan.Zero, TimeSpan.FromDays(1),
        "How long requests for a key go to the origin at once after an answer that was for one client, or too large to be kept. 0: not at all.");

    public static readonly Option<int> MaxMarkers = Count(
        "Cache:MaxMarkers", "100000", 1, int.MaxValue, "Keys remembered for that; of more, the latest.");

    public static readonly Option<long> MaxRequestBodyBytes = Bytes(
        "Cache:MaxRequestBodyBytes", "32MiB", "Body of one request, which goes to the origin as it comes. A larger one gets 413.");

    public static readonly Option<PeerList> TrustedProxies = new(
        "Cache:TrustedProxies", "", "address|network|unix[;...]",
        "Proxies in front whose X-Forwarded-For, X-Forwarded-Proto and Forwarded passes extend; other clients' are replaced. Empty: none.",
        PeerList.Parse);

    public static readonly Option<PeerList> ForwardTagsTo = new(
        "Cache:ForwardTagsTo", "", "address|network|unix[;...]",
        "Caches in front that get Surrogate-Key, so that they can be purged by tag; it is removed for all other clients. Empty: for all.",
        PeerList.Parse);

    public static readonly Option<TimeSpan> RangeHoldTime = Duration(
        "Cache:RangeHoldTime", "5s", TimeSpan.Zero, TimeSpan.FromHours(1),
        "How long a range waits for its bytes in a body of unknown length that is being received, before it gets all of the body.");

    public static readonly Option<int> FillAttempts = Count(
        "Cache:FillAttempts", "2", 1, 10, "Origin requests of one fill before it gives up; only failures before headers are tried again.");

    public static readonly Option<TimeSpan> FillRetryDelay = Duration(
        "Cache:FillRetryDelay", "100ms", TimeSpan.Zero, TimeSpan.FromMinutes(1),
        "Pause before a fill asks the same address again, with jitter; it doubles with each attempt, up to 10 s.");

    public static readonly Option<int> OriginMaxFills = Count(
        "Cache:OriginMaxFills", "1000", 1, 1_000_000, "Fills at a time at one address of the origin; more go to the next address, or get 503.");

    public static readonly Option<int> OriginMaxPasses = Count(
        "Cache:OriginMaxPasses", "1000", 1, 1_000_000, "Passes at a time at one address of the origin; more go to the next address, or get 503.");

    public static readonly Option<TimeSpan> OriginConnectTimeout = OriginTimeout(
        "Cache:OriginConnectTimeout", "5s", "Time to connect to the origin, name look-up and TLS included.");

    public static readonly Option<TimeSpan> OriginHeaderTimeout = OriginTimeout(
        "Cache:OriginHeaderTimeout", "30s",
        "Time to the origin's response headers, connecting included; begins anew with each piece of a request's body.");

    public static readonly Option<TimeSpan> OriginFirstByteTimeout = OriginTimeout(
        "Cache:OriginFirstByteTimeout", "30s", "Time from the origin's response headers to the first byte of the body.");

    public static readonly Option<TimeSpan> OriginIdleTimeout = OriginTimeout(
        "Cache:OriginIdleTimeout", "30s", "Time between two pieces of an origin's body.");

    public static readonly Option<int> OriginEjectAfter = Count(
        "Cache:OriginEjectAfter", "5", 0, 1_000_000,
        "Requests in a row without connection or headers after which an origin is not asked. Of several, bad answers count too. 0: never.");

    public static readonly Option<TimeSpan> OriginEjectTime = OriginTimeout(
        "Cache:OriginEjectTime", "10s", "How long it is then not asked; after that, one request tries it. With none left: 503.");

    public static readonly Option<string?> OriginProbePath = new(
        "Cache:OriginProbePath", "", "path",
        "Asked of every origin from time to time; anything but 2xx and 3xx is a failure. Empty: no probes.", AddressParser.OptionalPath);

    public static readonly Option<TimeSpan> OriginProbeInterval = OriginTimeout(
        "Cache:OriginProbeInterval", "5s", "Time between an answer to a probe and the next one.");

    public static readonly Option<string?> DiskPath = new(
        "Cache:DiskPath", "", "directory",
        "Where objects are kept that memory has no room for; made if it is not there, for one service alone. Empty: no disk tier.",
        static text => text.Length == 0 ? null : Path.GetFullPath(text));

    public static readonly Option<long> DiskBytes = Bytes(
        "Cache:DiskBytes", "1GiB",
        "Disk space, allocated at the start, with 1 MiB more for the journal of purges; at least two segments. The oldest makes room.");

    public static readonly Option<long> DiskSegmentBytes = new(
        "Cache:DiskSegmentBytes", "64MiB", BytesForm,
        "Size of one file below Cache:DiskPath: what is dropped at a time, and the largest object with its header. Another size drops all.",
        static text => ValueParser.Bytes(text, 1 << 20, 1 << 30) is var bytes && bytes % (1 << 20) == 0
            ? bytes : throw new FormatException("expected a multiple of 1MiB."));

    public static readonly Option<long> DiskQueueBytes = Bytes(
        "Cache:DiskQueueBytes", "64MiB", "Memory of evicted objects that wait to be written; more are dropped.");

    public static readonly Option<long> DiskTagBytes = Bytes(
        "Cache:DiskTagBytes", "64MiB", "Memory of the tags of objects on the disk; above it, the oldest file below Cache:DiskPath is dropped.");

    public static readonly Option<long> DiskMinObjectBytes = Bytes(
        "Cache:DiskMinObjectBytes", "4KiB", "Smaller bodies are not written: each takes 8 KiB of disk at least.");

    /// <summary>Of the first route; the others are numbered on.</summary>
    public static readonly Option<string> RoutePrefix = new(
        "Cache:Routes:0:Prefix", "", "text",
        "Keys that begin so may have HoldTime, MinReaderRate and Coalesce of their own: --Cache:Routes:0:HoldTime=10s. The longest prefix wins.",
        static text => text);

    /// <summary>All of them but the routes', in the order of <c>--help</c>.</summary>
    public static readonly IReadOnlyList<Option> All =
    [
        Urls, Protocols, Transport, Scheduling, LoopBacklogHighMark, LoopBacklogLowMark, DrainTimeout, DrainDelay, PublicReady,
        AdminUrl, AdminToken, AdminTokenFile, OtlpEndpoint, OtlpInterval,
        Origin, Origins, FileValidity, DefaultTtl, NegativeStatuses, NegativeTtl, ErrorTtl, MaxHeuristicTtl,
        KeepStale, StaleWhileRevalidate, StaleIfError, RequestDirectives, FetchFields, UnderscoresInFields, Cookies,
        MaxObjects, MaxVariants, MaxBytes, MaxObjectBytes, MaxInFlightBytes, MaxPinnedBytes, ReadAheadBytes,
        MaxFills, MaxPasses, MaxReadersPerObject, MaxWaiters, OverloadDelay, HoldTime, Coalesce, MinReaderRate, MaxFillAge, BackgroundFillBytes,
        HitForMissTtl, MaxMarkers, MaxRequestBodyBytes, TrustedProxies, ForwardTagsTo, RangeHoldTime, FillAttempts, FillRetryDelay,
        OriginMaxFills, OriginMaxPasses,
        OriginConnectTimeout, OriginHeaderTimeout, OriginFirstByteTimeout, OriginIdleTimeout,
        OriginEjectAfter, OriginEjectTime, OriginProbePath, OriginProbeInterval,
        DiskPath, DiskBytes, DiskSegmentBytes, DiskQueueBytes, DiskTagBytes, DiskMinObjectBytes,
    ];

    private static Option<T> Choice<T>(string name, string defaultText, string help)
        where T : struct, Enum => new(name, defaultText, string.Join('|', Enum.GetNames<T>()), help, ValueParser.Choice<T>);

    private static Option<TimeSpan> Duration(string name, string defaultText, TimeSpan minimum, TimeSpan maximum, string help) =>
        new(name, defaultText, DurationForm, help, text => ValueParser.Duration(text, minimum, maximum));

    private static Option<TimeSpan> OriginTimeout(string name, string defaultText, string help) =>
        Duration(name, defaultText, TimeSpan.FromMilliseconds(1), TimeSpan.FromHours(1), help);

    private static Option<long> Bytes(string name, string defaultText, string help) =>
        new(name, defaultText, BytesForm, help, text => ValueParser.Bytes(text, 1, 1L << 50));

    private static Option<int?> OptionalCount(string name, string help) =>
        new(name, "", CountForm, help, text => text.Length == 0 ? null : ValueParser.Count(text, 1, 1_000_000));

    private static Option<int> Count(string name, string defaultText, int minimum, int maximum, string help) =>
        new(name, defaultText, CountForm, help, text => ValueParser.Count(text, minimum, maximum));
}
