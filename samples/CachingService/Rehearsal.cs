using System.Net.Http.Headers;
using CachingService.Options;
using CachingService.Routes;
using IoUringCache.Caching.Engine;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Options;
using IoUringCache.Caching.Serving;
using IoUringCache.Caching.Storage;
using IoUringCache.Caching.Telemetry;
using IoUringCache.Transport;
using Microsoft.Extensions.Logging.Abstractions;

namespace CachingService;

/// <summary>
/// Runs the code of a client's first requests: a miss, a hit, a range, a join and a pass. They go to a listener on loopback, with a cache and an
/// origin that exist only for them, so the service's own store, counters, logs and origin see nothing of it. Runs before the service is ready;
/// owned by <see cref="WarmUp"/>.
/// </summary>
internal static class Rehearsal
{
    private const string Stored = "/object/stored";
    private const string Live = "/object/live";

    /// <summary>The transport's smallest piece of memory and more: bodies of clients are rarely smaller.</summary>
    private const int PieceBytes = 8192;

    private static int s_hasBegun;

    /// <summary>As <see cref="RunAsync"/>, for the first service of the process: code that has run once needs no second time.</summary>
    public static Task RunOnceAsync(ServiceOptions options, CancellationToken cancellationToken) =>
        Interlocked.Exchange(ref s_hasBegun, 1) == 0 ? RunAsync(options, cancellationToken) : Task.CompletedTask;

    /// <param name="options">The service's, of which only the addresses and the disk are not used.</param>
    /// <returns>The counters of its cache.</returns>
    /// <exception cref="Exception">Of any kind: nothing can listen, or a connection breaks. Each status will do.</exception>
    public static async Task<CacheMetrics> RunAsync(ServiceOptions options, CancellationToken cancellationToken)
    {
        IoUringTransportOptions transport = new();
        options.Configure(transport);
        await using CacheEngine cache = await CacheEngine.CreateAsync(
            nameof(CachingService),
            options.Cache,
            options.Origin with { ProbePath = null },
            disk: null,
            BodyMemory.Arrays,
            new(options.Transport == TransportBackend.Sockets ? null : new(transport, NullLoggerFactory.Instance)),
            pausesAccepting: false,
            TimeProvider.System,
            NullLoggerFactory.Instance);
        ServiceRoute route = options.Routes[^1] with
        {
            Hosts = [],
            Prefix = KeyOptionCatalog.PublicPath.Default,
            StripPrefix = true,
            AllowFrom = RouteOptionCatalog.AllowFrom.Default,
            DenyFrom = RouteOptionCatalog.DenyFrom.Default,
        };
        RouteMap routes = new(cache, demo: null);
        TargetGate gate = new(cache.Answers, new([], MethodRules.Allowed), own: []);
        TaskCompletionSource hasJoined = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using WebApplication app = PublicApplication.BuildForRehearsal(options, cache);
        app.Use(gate.InvokeAsync);
        app.Run(context => AnswerAsOriginAsync(context, hasJoined.Task));
        await app.StartAsync(cancellationToken);
        gate.Table = routes.Make([route with { Origin = new([.. app.Urls], null) }]);

        using HttpClient client = new(new SocketsHttpHandler { UseProxy = false }) { BaseAddress = new(app.Urls.Single()) };
        await ReadAsync(await SendAsync(HttpMethod.Get, Stored));
        await ReadAsync(await SendAsync(HttpMethod.Get, Stored));
        await ReadAsync(await SendAsync(HttpMethod.Get, Stored, new RangeHeaderValue(1, PieceBytes)));
        HttpResponseMessage first = await SendAsync(HttpMethod.Get, Live);
        HttpResponseMessage second = await SendAsync(HttpMethod.Get, Live);
        hasJoined.SetResult();
        await Task.WhenAll(ReadAsync(first), ReadAsync(second));
        await ReadAsync(await SendAsync(HttpMethod.Post, Stored));
        return cache.Metrics;

        Task<HttpResponseMessage> SendAsync(HttpMethod method, string target, RangeHeaderValue? range = null)
        {
            HttpRequestMessage request = new(method, target) { Headers = { Range = range } };
            return client.SendAsync(request, HttpCompletionOption.ResponseHeadersRead, cancellationToken);
        }

        async Task ReadAsync(HttpResponseMessage response)
        {
            using (response)
            {
                await response.Content.LoadIntoBufferAsync(cancellationToken);
            }
        }
    }

    /// <summary>Two pieces. The second of the live object comes when it has two readers.</summary>
    private static async Task AnswerAsOriginAsync(HttpContext context, Task hasJoined)
    {
        context.Response.Headers.CacheControl = "max-age=60";
        context.Response.ContentLength = 2 * PieceBytes;
        await context.Response.Body.WriteAsync(new byte[PieceBytes], context.RequestAborted);
        if (Live.EndsWith(context.Request.Path, StringComparison.Ordinal))
        {
            await hasJoined.WaitAsync(context.RequestAborted);
        }

        await context.Response.Body.WriteAsync(new byte[PieceBytes], context.RequestAborted);
    }
}
