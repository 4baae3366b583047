using System.Net;
using CachingService.Listening;
using IoUringCache.Caching.Admin;
using IoUringCache.Caching.Engine;
using IoUringCache.Caching.Options;
using IoUringCache.Caching.Serving;
using IoUringCache.Clustering;

namespace CachingService;

/// <summary>
/// The operator's side: an application of its own on a listener of its own, because a filter by Host header in the public one would
/// believe what the client says. Figures and health are for everybody who gets here; keys, and all that changes anything, are for those
/// who know the token.
/// </summary>
internal static class AdminApplication
{
    /// <param name="service">The public application's life: whether it has started, and stopping it as SIGTERM does.</param>
    public static WebApplication Build(
        string url,
        AdminOptions options,
        CacheEngine cache,
        PurgeCluster? cluster,
        IHostApplicationLifetime service,
        Action<ILoggingBuilder> configureLogging,
        ListenSockets sockets,
        Drain drain,
        bool isHeld)
    {
        WebApplicationBuilder builder = WebApplication.CreateEmptyBuilder(new());
        builder.WebHost
            .UseKestrel(kestrel => kestrel.AddServerHeader = false)
            .UseSockets(transport => transport.CreateBoundListenSocket = sockets.Open)
            .UseUrls(url);
        AcceptGate.Add(builder.Services, sockets, isHeld);
        builder.Services.AddRoutingCore().Configure<ConsoleLifetimeOptions>(console => console.SuppressStatusMessages = true);
        configureLogging(builder.Logging);
        WebApplication app = builder.Build();
        app.Use(drain.OnRequestAsync);
        app.Use(RefuseHostNamesAsync);
        app.UseRouting();
        AdminGuard guard = new(options.Token);
        app.MapHealth(cache.Answers);
        app.MapReady(cache.Answers, service, cluster);
        AdminEndpoints.Map(app, _ => cache, _ => service.ApplicationStopping, guard);
        app.MapGet("/cluster", AdminEndpoints.Explained(context => ClusterEndpoint.AnswerAsync(context, cluster)));
        app.MapPost("/drain", guard.Protect(AdminEndpoints.Explained(context => DrainAsync(context, service))));
        app.MapPage(guard.HasToken);
        return app;
    }

    private static Task DrainAsync(HttpContext context, IHostApplicationLifetime service)
    {
        _ = new AdminQuery(context.Request.QueryString);
        service.StopApplication();
        JsonAnswer.Write(context, static json => json.WriteBoolean("draining", true));
        return Task.CompletedTask;
    }

    /// <summary>
    /// A web page could point a name of its own at this address and read the answer from a visitor's browser (DNS rebinding); it cannot
    /// do so with <c>localhost</c> or an IP address, and a browser never leaves the field out. Health and readiness are no secret.
    /// </summary>
    private static Task RefuseHostNamesAsync(HttpContext context, RequestDelegate next)
    {
        string host = context.Request.Host.Host;
        if (host.Length == 0
            || host.Equals("localhost", StringComparison.OrdinalIgnoreCase)
            || IPAddress.TryParse(host, out _)
            || HealthEndpoints.IsOneOf(context.Request.Path))
        {
            return next(context);
        }

        context.Response.StatusCode = StatusCodes.Status403Forbidden;
        return Task.CompletedTask;
    }
}
