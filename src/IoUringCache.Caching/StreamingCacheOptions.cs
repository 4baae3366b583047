using IoUringCache.Caching.Options;

namespace IoUringCache.Caching;

/// <summary>
/// The options of an application's cache, which routes may have otherwise (<see cref="StreamingCacheRouteOptions"/>). In a configuration each has
/// the name of its property, durations as <c>500ms</c>, <c>60s</c>, <c>5m</c>, <c>1h</c>, <c>7d</c> or <c>hh:mm:ss</c>, sizes as <c>65536</c>,
/// <c>64KiB</c>, <c>256MiB</c> or <c>4GiB</c>. A value out of range is found when the application starts, which fails with an
/// <see cref="Microsoft.Extensions.Options.OptionsValidationException"/> that names the option. One thread at a time; the cache keeps no reference.
/// </summary>
/// <example><code>
/// builder.Services.AddStreamingCache(options =>
/// {
///     options.DefaultTtl = TimeSpan.FromMinutes(1);
///     options.MaxBytes = 1L &lt;&lt; 30;
/// });
/// </code></example>
public sealed class StreamingCacheOptions
{
    internal OptionValues Values { get; } = new(OptionValues.CacheSection);

    /// <summary>
    /// What the cache is called in <c>Cache-Status</c> (RFC 9211 section 2), and in <c>Via</c> with something that is new at each start. A letter
    /// and up to 99 characters of a token (RFC 9110 section 5.6.2). Defaults to <see langword="null"/>: the application's name. Read at the start
    /// only.
    /// </summary>
    public string? Name { get => Values.Get(OptionCatalog.Name); set => Values.Set(OptionCatalog.Name, value); }

    /// <summary>
    /// Lifetime of a response that is no error, whatever its <c>max-age</c>, <c>s-maxage</c> or <c>Expires</c> say; <c>no-store</c>,
    /// <c>no-cache</c> and <c>private</c> count. Zero to 365 days. Defaults to <see langword="null"/>: as the response says.
    /// </summary>
    public TimeSpan? ForcedTtl { get => Values.Get(OptionCatalog.ForcedTtl); set => Values.Set(OptionCatalog.ForcedTtl, value); }

    /// <summary>
    /// Lifetime of a 200 response whose <c>Cache-Control</c> and <c>Expires</c> give none (RFC 9111 section 4.2.1). Zero to 365 days. Defaults
    /// to 0.
    /// </summary>
    public TimeSpan DefaultTtl { get => Values.Get(OptionCatalog.DefaultTtl); set => Values.Set(OptionCatalog.DefaultTtl, value); }

    /// <summary>
    /// Statuses from 400 to 499 that are shared and stored; any other 4xx goes to the client that caused it, alone. Defaults to 404, 410, 451.
    /// </summary>
    public IReadOnlySet<int> NegativeStatuses { get => Values.Get(OptionCatalog.NegativeStatuses); set => Values.Set(OptionCatalog.NegativeStatuses, value); }

    /// <summary>Lifetime of these where the origin gives none. Zero to 365 days. Defaults to 0: as for other statuses.</summary>
    public TimeSpan NegativeTtl { get => Values.Get(OptionCatalog.NegativeTtl); set => Values.Set(OptionCatalog.NegativeTtl, value); }

    /// <summary>
    /// Lifetime of a 5xx response where the origin gives none, so that a failing origin is asked less often. Zero to 365 days. Defaults to 1 s.
    /// </summary>
    public TimeSpan ErrorTtl { get => Values.Get(OptionCatalog.ErrorTtl); set => Values.Set(OptionCatalog.ErrorTtl, value); }

    /// <summary>
    /// Upper limit of the lifetime that is guessed as a tenth of <c>Date</c> minus <c>Last-Modified</c> (RFC 9111 section 4.2.2). Zero to 365
    /// days. Defaults to 0: no guess.
    /// </summary>
    public TimeSpan MaxHeuristicTtl { get => Values.Get(OptionCatalog.MaxHeuristicTtl); set => Values.Set(OptionCatalog.MaxHeuristicTtl, value); }

    /// <summary>
    /// How long an expired object with a validator is kept, for the origin to confirm it by a 304. Zero to 365 days. Defaults to 1 h.
    /// </summary>
    public TimeSpan KeepStale { get => Values.Get(OptionCatalog.KeepStale); set => Values.Set(OptionCatalog.KeepStale, value); }

    /// <summary>
    /// How long an expired object is served while it is fetched anew, where its <c>Cache-Control</c> does not say (RFC 5861 section 3). Zero to
    /// 365 days. Defaults to 0.
    /// </summary>
    public TimeSpan StaleWhileRevalidate { get => Values.Get(OptionCatalog.StaleWhileRevalidate); set => Values.Set(OptionCatalog.StaleWhileRevalidate, value); }

    /// <summary>
    /// How long an expired object is served if the origin fails, where its <c>Cache-Control</c> does not say (RFC 5861 section 4). Zero to 365
    /// days. Defaults to 0.
    /// </summary>
    public TimeSpan StaleIfError { get => Values.Get(OptionCatalog.StaleIfError); set => Values.Set(OptionCatalog.StaleIfError, value); }

    /// <summary>
    /// How long a file of up to 64 KiB of a directory is served from memory before it is looked at again. Zero to 1 h. Defaults to 1 s. Read at
    /// the start only.
    /// </summary>
    public TimeSpan FileValidity { get => Values.Get(OptionCatalog.FileValidity); set => Values.Set(OptionCatalog.FileValidity, value); }

    /// <summary>Whether clients get newer or older objects by directives of their requests. Defaults to <see cref="DirectiveUse.Ignore"/>.</summary>
    public DirectiveUse RequestDirectives { get => Values.Get(OptionCatalog.RequestDirectives); set => Values.Set(OptionCatalog.RequestDirectives, value); }

    /// <summary>
    /// Request fields that a shared fetch sends, besides those that a <c>Vary</c> of the key names; no credentials, conditions, or fields that
    /// name another host, target or method. Defaults to Accept, Accept-Language, Origin, User-Agent.
    /// </summary>
    public IReadOnlyList<string> FetchFields { get => Values.Get(OptionCatalog.FetchFields); set => Values.Set(OptionCatalog.FetchFields, [.. value]); }

    /// <summary>
    /// Whether passes send request fields with <c>_</c> in their name, which CGI and WSGI origins read as <c>-</c>. Defaults to false.
    /// </summary>
    public bool UnderscoresInFields { get => Values.Get(OptionCatalog.UnderscoresInFields); set => Values.Set(OptionCatalog.UnderscoresInFields, value); }

    /// <summary>What requests with <c>Cookie</c> have of the cache. Defaults to <see cref="CookieUse.Bypass"/>.</summary>
    public CookieUse Cookies { get => Values.Get(OptionCatalog.Cookies); set => Values.Set(OptionCatalog.Cookies, value); }

    /// <summary>Stored objects, 1 or more; above it those with the fewest requests go first (S3-FIFO). Defaults to 100,000.</summary>
    public int MaxObjects { get => Values.Get(OptionCatalog.MaxObjects); set => Values.Set(OptionCatalog.MaxObjects, value); }

    /// <summary>Stored variants of one key (<c>Vary</c>), 1 to 1,000; above it the oldest goes. Defaults to 16. Read at the start only.</summary>
    public int MaxVariants { get => Values.Get(OptionCatalog.MaxVariants); set => Values.Set(OptionCatalog.MaxVariants, value); }

    /// <summary>Memory of stored objects in bytes, with their headers, keys and tags. Defaults to 256 MiB.</summary>
    public long MaxBytes { get => Values.Get(OptionCatalog.MaxBytes); set => Values.Set(OptionCatalog.MaxBytes, value); }

    /// <summary>Largest body in bytes that is stored; a larger one streams to whoever waits for it. Defaults to 64 MiB.</summary>
    public long MaxObjectBytes { get => Values.Get(OptionCatalog.MaxObjectBytes); set => Values.Set(OptionCatalog.MaxObjectBytes, value); }

    /// <summary>
    /// Size in bytes of the parts by which larger bodies are fetched, stored and evicted, where the origin knows ranges and strong validators. 64 KiB to
    /// 1 GiB. Defaults to 0: never.
    /// </summary>
    public long SliceBytes { get => Values.Get(OptionCatalog.SliceBytes); set => Values.Set(OptionCatalog.SliceBytes, value); }

    /// <summary>
    /// Memory in bytes of bodies that are being received; above it new fetches get 503, and running ones are not stored. Defaults to 256 MiB.
    /// </summary>
    public long MaxInFlightBytes { get => Values.Get(OptionCatalog.MaxInFlightBytes); set => Values.Set(OptionCatalog.MaxInFlightBytes, value); }

    /// <summary>Memory in bytes that only readers still hold; above it the slowest readers are cut. Defaults to 256 MiB.</summary>
    public long MaxPinnedBytes { get => Values.Get(OptionCatalog.MaxPinnedBytes); set => Values.Set(OptionCatalog.MaxPinnedBytes, value); }

    /// <summary>
    /// How far in bytes, besides <see cref="MaxObjectBytes"/>, a body that is not stored may run ahead of its slowest reader. Defaults to 1
    /// MiB.
    /// </summary>
    public long ReadAheadBytes { get => Values.Get(OptionCatalog.ReadAheadBytes); set => Values.Set(OptionCatalog.ReadAheadBytes, value); }

    /// <summary>Shared fetches at a time, 1 to 1,000,000; above it requests that need another get 503. Defaults to 1,000.</summary>
    public int MaxFills { get => Values.Get(OptionCatalog.MaxFills); set => Values.Set(OptionCatalog.MaxFills, value); }

    /// <summary>
    /// How long a new shared fetch waits for a place when <see cref="MaxFills"/>, <see cref="OriginMaxFills"/> or <see cref="MaxInFlightBytes"/> is
    /// reached, before its requests get 503. Up to 1 h. Defaults to 0: not at all.
    /// </summary>
    public TimeSpan FetchQueueTime { get => Values.Get(OptionCatalog.FetchQueueTime); set => Values.Set(OptionCatalog.FetchQueueTime, value); }

    /// <summary>Requests that go to the origin alone at a time, 1 to 1,000,000; above it they get 503. Defaults to 1,000.</summary>
    public int MaxPasses { get => Values.Get(OptionCatalog.MaxPasses); set => Values.Set(OptionCatalog.MaxPasses, value); }

    /// <summary>
    /// Connections of other protocols (<see cref="Upgrades"/>) at a time, with those that ask for one, 1 to 1,000,000; above it requests that ask get
    /// 503. They count as passes until the origin takes the protocol up. Defaults to 10,000.
    /// </summary>
    public int MaxUpgrades { get => Values.Get(OptionCatalog.MaxUpgrades); set => Values.Set(OptionCatalog.MaxUpgrades, value); }

    /// <summary>Readers of one fetch, 1 to 1,000,000; above it further ones get 503. Defaults to 10,000.</summary>
    public int MaxReadersPerObject { get => Values.Get(OptionCatalog.MaxReadersPerObject); set => Values.Set(OptionCatalog.MaxReadersPerObject, value); }

    /// <summary>Requests that wait for the headers of any fetch, 1 or more; above it further ones get 503. Defaults to 100,000.</summary>
    public int MaxWaiters { get => Values.Get(OptionCatalog.MaxWaiters); set => Values.Set(OptionCatalog.MaxWaiters, value); }

    /// <summary>
    /// Delay of an event loop at which new fetches get 503, at twice it new waiters too, at four times new connections. Zero to 1 h. Defaults
    /// to 100 ms; 0 is no limit. Read at the start only.
    /// </summary>
    public TimeSpan OverloadDelay { get => Values.Get(OptionCatalog.OverloadDelay); set => Values.Set(OptionCatalog.OverloadDelay, value); }

    /// <summary>
    /// How long a request waits for the headers of a shared fetch before it gets 503; the fetch goes on. Up to 1 h. Defaults to 0: as long as
    /// it takes.
    /// </summary>
    public TimeSpan HoldTime { get => Values.Get(OptionCatalog.HoldTime); set => Values.Set(OptionCatalog.HoldTime, value); }

    /// <summary>Whether requests for one object share one fetch. Defaults to true.</summary>
    public bool Coalesce { get => Values.Get(OptionCatalog.Coalesce); set => Values.Set(OptionCatalog.Coalesce, value); }

    /// <summary>
    /// Content codings, <c>br</c>, <c>gzip</c> and <c>zstd</c>, by which responses are compressed for clients that can read them, the preferred one first. Each variant is
    /// made while the response comes, and stored. Defaults to none.
    /// </summary>
    public IReadOnlyList<string> Compress
    {
        get => Values.Get(CompressionOptionCatalog.Codings);
        set => Values.Set(CompressionOptionCatalog.Codings, [.. value]);
    }

    /// <summary>
    /// Media types that are compressed, with a star at the end for all that begin so. Defaults to <c>text/*</c> and those of scripts, JSON, XML, SVG,
    /// WebAssembly and uncompressed fonts.
    /// </summary>
    public IReadOnlyList<string> CompressTypes
    {
        get => Values.Get(CompressionOptionCatalog.Types).ToString().Split(',', StringSplitOptions.RemoveEmptyEntries);
        set => Values.Set(CompressionOptionCatalog.Types, new(value.Select(static type => type.ToLowerInvariant())));
    }

    /// <summary>Smallest body in bytes that is compressed, where the origin tells the length. 1 or more. Defaults to 1 KiB.</summary>
    public long CompressMinBytes { get => Values.Get(CompressionOptionCatalog.MinBytes); set => Values.Set(CompressionOptionCatalog.MinBytes, value); }

    /// <summary>
    /// Whether fetches carry the place in a trace (W3C Trace Context: <c>traceparent</c>, <c>tracestate</c>): their own span where there is one, else
    /// the client's; and passes that of their own span instead of the client's, where there is one. Defaults to false.
    /// </summary>
    public bool PassTrace { get => Values.Get(OptionCatalog.PassTrace); set => Values.Set(OptionCatalog.PassTrace, value); }

    /// <summary>
    /// Lowest rate in bytes per second at which a client must read a body; one that stops is cut 5 s and up to twice the time for 96 KiB later.
    /// Defaults to 240; 0 is no limit.
    /// </summary>
    public long MinReaderRate { get => Values.Get(OptionCatalog.MinReaderRate); set => Values.Set(OptionCatalog.MinReaderRate, value); }

    /// <summary>
    /// Longest time from a request to the origin to the end of its body, 1 s to 365 days. Defaults to 1 day.
    /// </summary>
    public TimeSpan MaxFillAge { get => Values.Get(OptionCatalog.MaxFillAge); set => Values.Set(OptionCatalog.MaxFillAge, value); }

    /// <summary>
    /// After its last reader has left, a fetch goes on if at most this many bytes of its body are missing. Defaults to <see langword="null"/>:
    /// always.
    /// </summary>
    public long? BackgroundFillBytes { get => Values.Get(OptionCatalog.BackgroundFillBytes); set => Values.Set(OptionCatalog.BackgroundFillBytes, value); }

    /// <summary>
    /// After a response that cannot be shared: how long requests for its key do not wait for each other. Zero to 1 day. Defaults to 2 min.
    /// </summary>
    public TimeSpan HitForMissTtl { get => Values.Get(OptionCatalog.HitForMissTtl); set => Values.Set(OptionCatalog.HitForMissTtl, value); }

    /// <summary>Keys remembered for that, 1 or more; above it the oldest is forgotten. Defaults to 100,000. Read at the start only.</summary>
    public int MaxMarkers { get => Values.Get(OptionCatalog.MaxMarkers); set => Values.Set(OptionCatalog.MaxMarkers, value); }

    /// <summary>Largest request body in bytes that streams to an HTTP origin; a larger one gets 413. Defaults to 32 MiB.</summary>
    public long MaxRequestBodyBytes { get => Values.Get(OptionCatalog.MaxRequestBodyBytes); set => Values.Set(OptionCatalog.MaxRequestBodyBytes, value); }

    /// <summary>
    /// Protocols for which a client of an HTTP origin may have its connection go through to it (<c>Upgrade</c>, RFC 9110 section 7.8), if that takes
    /// it up; a stream of HTTP/2 too (RFC 8441). None that is HTTP itself. Defaults to <c>websocket</c>.
    /// </summary>
    public IReadOnlyList<string> Upgrades { get => Values.Get(OptionCatalog.Upgrades); set => Values.Set(OptionCatalog.Upgrades, [.. value]); }

    /// <summary>Time without a byte in either direction after which such a connection is cut. 1 s to 7 days. Defaults to 10 min.</summary>
    public TimeSpan UpgradeIdleTimeout { get => Values.Get(OptionCatalog.UpgradeIdleTimeout); set => Values.Set(OptionCatalog.UpgradeIdleTimeout, value); }

    /// <summary>
    /// Proxies in front whose <c>X-Forwarded-For</c>, <c>X-Forwarded-Proto</c> and <c>Forwarded</c> passes extend, and replace those of others:
    /// addresses, networks, or <c>unix</c> for Unix sockets, with semicolons between. Defaults to none, which is right behind
    /// <c>UseForwardedHeaders</c>: passes then tell the address and scheme that it has put in the place of the proxy's.
    /// </summary>
    /// <exception cref="ArgumentException">A part is none of these.</exception>
    public string TrustedProxies
    {
        get => Values.Get(OptionCatalog.TrustedProxies).ToString();
        set => Values.Set(OptionCatalog.TrustedProxies, ParsePeers(value));
    }

    /// <summary>Caches in front that get <c>Surrogate-Key</c>, in the same form; other clients do not. Defaults to none.</summary>
    /// <exception cref="ArgumentException">A part is none of these.</exception>
    public string ForwardTagsTo
    {
        get => Values.Get(OptionCatalog.ForwardTagsTo).ToString();
        set => Values.Set(OptionCatalog.ForwardTagsTo, ParsePeers(value));
    }

    /// <summary>
    /// Clients that may purge by the method <c>PURGE</c> where the application has mapped it to the cache, in the same form; others get 403.
    /// Behind <see cref="TrustedProxies"/> the client is the one that they name. Defaults to none: the method goes to the origin or end point.
    /// </summary>
    /// <exception cref="ArgumentException">A part is none of these.</exception>
    public string PurgeFrom
    {
        get => Values.Get(OptionCatalog.PurgeFrom).ToString();
        set => Values.Set(OptionCatalog.PurgeFrom, ParsePeers(value));
    }

    /// <summary>
    /// How long a range request waits for its bytes of an unfinished body of unknown length before it gets the whole body. Zero to 1 h.
    /// Defaults to 5 s.
    /// </summary>
    public TimeSpan RangeHoldTime { get => Values.Get(OptionCatalog.RangeHoldTime); set => Values.Set(OptionCatalog.RangeHoldTime, value); }

    /// <summary>
    /// Requests to the origin of one fetch, 1 to 10; only a failure before the headers is tried again. Defaults to 2. Read at the start only.
    /// </summary>
    public int FillAttempts { get => Values.Get(OptionCatalog.FillAttempts); set => Values.Set(OptionCatalog.FillAttempts, value); }

    /// <summary>
    /// Delay before the same address is tried again, with jitter; it doubles with each attempt, up to 10 s. Zero to 1 min. Defaults to 100 ms.
    /// Read at the start only.
    /// </summary>
    public TimeSpan FillRetryDelay { get => Values.Get(OptionCatalog.FillRetryDelay); set => Values.Set(OptionCatalog.FillRetryDelay, value); }

    /// <summary>
    /// How often a body that breaks off is resumed by <c>Range</c>, 0 to 100, if it has a length and a strong validator. Defaults to 0: never, and
    /// its readers are cut.
    /// </summary>
    public int FetchResumes { get => Values.Get(OptionCatalog.FetchResumes); set => Values.Set(OptionCatalog.FetchResumes, value); }

    /// <summary>
    /// Shared fetches at one address of an origin at a time, 1 to 1,000,000; above it the next address is asked. Defaults to 1,000.
    /// </summary>
    public int OriginMaxFills { get => Values.Get(OptionCatalog.OriginMaxFills); set => Values.Set(OptionCatalog.OriginMaxFills, value); }

    /// <summary>The same of requests that go there alone. Defaults to 1,000.</summary>
    public int OriginMaxPasses { get => Values.Get(OptionCatalog.OriginMaxPasses); set => Values.Set(OptionCatalog.OriginMaxPasses, value); }

    /// <summary>Time to connect to an origin, with name resolution and TLS, 1 ms to 1 h. Defaults to 5 s.</summary>
    public TimeSpan OriginConnectTimeout { get => Values.Get(OptionCatalog.OriginConnectTimeout); set => Values.Set(OptionCatalog.OriginConnectTimeout, value); }

    /// <summary>Time to the response headers, with the connect, 1 ms to 1 h; each piece of a request body starts it anew. Defaults to 30 s.</summary>
    public TimeSpan OriginHeaderTimeout { get => Values.Get(OptionCatalog.OriginHeaderTimeout); set => Values.Set(OptionCatalog.OriginHeaderTimeout, value); }

    /// <summary>Time from the response headers to the first byte of the body, 1 ms to 1 h. Defaults to 30 s.</summary>
    public TimeSpan OriginFirstByteTimeout { get => Values.Get(OptionCatalog.OriginFirstByteTimeout); set => Values.Set(OptionCatalog.OriginFirstByteTimeout, value); }

    /// <summary>Time between two reads of a body, 1 ms to 1 h. Defaults to 30 s.</summary>
    public TimeSpan OriginIdleTimeout { get => Values.Get(OptionCatalog.OriginIdleTimeout); set => Values.Set(OptionCatalog.OriginIdleTimeout, value); }

    /// <summary>
    /// PEM file with one or more CA certificates that <c>https</c> origins are checked by, instead of the system's. Read again when the
    /// configuration changes, as the next two. Defaults to <see langword="null"/>: the system's.
    /// </summary>
    public string? OriginCaFile { get => Values.Get(OptionCatalog.OriginCaFile); set => Values.Set(OptionCatalog.OriginCaFile, value); }

    /// <summary>
    /// PEM file with the certificate that is shown to <c>https</c> origins that ask for one, and its intermediates. Defaults to
    /// <see langword="null"/>: none.
    /// </summary>
    public string? OriginCertificateFile { get => Values.Get(OptionCatalog.OriginCertificateFile); set => Values.Set(OptionCatalog.OriginCertificateFile, value); }

    /// <summary>
    /// PEM file with its private key, not encrypted. Defaults to <see langword="null"/>: it is in <see cref="OriginCertificateFile"/>.
    /// </summary>
    public string? OriginKeyFile { get => Values.Get(OptionCatalog.OriginKeyFile); set => Values.Set(OptionCatalog.OriginKeyFile, value); }

    /// <summary>
    /// Host name that the certificates of <c>https</c> origins must have, and that is sent as SNI. Defaults to <see langword="null"/>: the
    /// host of each URL, whatever <c>Host</c> the origin gets.
    /// </summary>
    public string? OriginTlsName { get => Values.Get(OptionCatalog.OriginTlsName); set => Values.Set(OptionCatalog.OriginTlsName, value); }

    /// <summary>Failures in a row that open an address's circuit. Defaults to 5; 0 is never.</summary>
    public int OriginEjectAfter { get => Values.Get(OptionCatalog.OriginEjectAfter); set => Values.Set(OptionCatalog.OriginEjectAfter, value); }

    /// <summary>How long an open circuit stops requests to its address; then one request tries it. 1 ms to 1 h. Defaults to 10 s.</summary>
    public TimeSpan OriginEjectTime { get => Values.Get(OptionCatalog.OriginEjectTime); set => Values.Set(OptionCatalog.OriginEjectTime, value); }

    /// <summary>
    /// Path that is asked of every address as a health probe; anything but 2xx and 3xx is a failure. Defaults to <see langword="null"/>: no
    /// probes.
    /// </summary>
    public string? OriginProbePath { get => Values.Get(OptionCatalog.OriginProbePath); set => Values.Set(OptionCatalog.OriginProbePath, value); }

    /// <summary>Time from the answer to a probe to the next one, 1 ms to 1 h. Defaults to 5 s.</summary>
    public TimeSpan OriginProbeInterval { get => Values.Get(OptionCatalog.OriginProbeInterval); set => Values.Set(OptionCatalog.OriginProbeInterval, value); }

    /// <summary>
    /// Directory for objects that memory has no space for, created if missing, for one application only; it needs io_uring. Defaults to <see
    /// langword="null"/>: no disk tier. Read at the start only, as are all that follow.
    /// </summary>
    public string? DiskPath { get => Values.Get(DiskOptionCatalog.Path); set => Values.Set(DiskOptionCatalog.Path, value); }

    /// <summary>Disk space in bytes, allocated at the start, at least two segments; 1 MiB more is the purge journal. Defaults to 1 GiB.</summary>
    public long DiskBytes { get => Values.Get(DiskOptionCatalog.Bytes); set => Values.Set(DiskOptionCatalog.Bytes, value); }

    /// <summary>
    /// Size of one segment file in bytes, and so of the largest object: a multiple of 1 MiB up to 1 GiB. A change empties the tier. Defaults to
    /// 64 MiB.
    /// </summary>
    public long DiskSegmentBytes { get => Values.Get(DiskOptionCatalog.SegmentBytes); set => Values.Set(DiskOptionCatalog.SegmentBytes, value); }

    /// <summary>Memory in bytes of evicted objects that wait for the disk; above it further ones are dropped. Defaults to 64 MiB.</summary>
    public long DiskQueueBytes { get => Values.Get(DiskOptionCatalog.QueueBytes); set => Values.Set(DiskOptionCatalog.QueueBytes, value); }

    /// <summary>
    /// Memory in bytes of the tags, and of the directories of keys, of objects on the disk; above it the oldest segment is dropped. Defaults to
    /// 256 MiB.
    /// </summary>
    public long DiskTagBytes { get => Values.Get(DiskOptionCatalog.TagBytes); set => Values.Set(DiskOptionCatalog.TagBytes, value); }

    /// <summary>Smallest body in bytes that is written to the disk, where each object takes 8 KiB or more. Defaults to 4 KiB.</summary>
    public long DiskMinObjectBytes { get => Values.Get(DiskOptionCatalog.MinObjectBytes); set => Values.Set(DiskOptionCatalog.MinObjectBytes, value); }

    /// <summary>
    /// Time in which an application that ends writes the objects in memory to the disk, the most requested first; it begins when the container
    /// disposes of the cache. 0 to 1 h; 0 is never. Defaults to 10 s.
    /// </summary>
    public TimeSpan DiskSaveOnDrain { get => Values.Get(DiskOptionCatalog.SaveOnDrain); set => Values.Set(DiskOptionCatalog.SaveOnDrain, value); }

    private static PeerList ParsePeers(string value)
    {
        try
        {
            return PeerList.Parse(value);
        }
        catch (FormatException failure)
        {
            throw new ArgumentException(failure.Message, nameof(value));
        }
    }
}
