using System.Net;
using IoUringCache.Caching.Admin;
using IoUringCache.Caching.Options;

namespace CachingService;

/// <summary>
/// The operator's side: an application of its own on a listener of its own, because a filter by Host header in the public one would
/// believe what the client says. Figures and health are for everybody who gets here; keys, and all that changes anything, are for those
/// who know the token.
/// </summary>
internal static class AdminApplication
{
    private delegate Task Operation(HttpContext context, AdminServices services);

    /// <param name="url">Listen address.</param>
    /// <param name="options">The token.</param>
    /// <param name="services">What is shown and changed.</param>
    /// <param name="configureLogging">The same as the public application's.</param>
    public static WebApplication Build(string url, AdminOptions options, AdminServices services, Action<ILoggingBuilder> configureLogging)
    {
        WebApplicationBuilder builder = WebApplication.CreateEmptyBuilder(new());
        builder.WebHost.UseKestrel(kestrel => kestrel.AddServerHeader = false).UseUrls(url);
        builder.Services.AddRoutingCore().Configure<ConsoleLifetimeOptions>(console => console.SuppressStatusMessages = true);
        configureLogging(builder.Logging);
        WebApplication app = builder.Build();
        app.Use(RefuseHostNamesAsync);
        app.UseRouting();
        app.MapGet("/metrics", () => Results.Text(services.Cache.Collector.Write(), "text/plain; version=0.0.4"));
        app.MapHealth();
        app.MapReady(services.Life);

        AdminGuard guard = new(options.Token);
        app.MapGet("/stats", guard.Protect(Of(static (context, shared) => StatsEndpoint.Answer(context, shared), services)));
        app.MapGet("/fills", guard.Protect(Of(static (context, shared) => FillsEndpoint.Answer(context, shared), services)));
        app.MapGet("/entry", guard.Protect(Of(static (context, shared) => EntryEndpoint.Answer(context, shared), services)));
        app.MapPost("/purge", guard.Protect(Of(static (context, shared) => PurgeEndpoint.AnswerAsync(context, shared), services)));
        app.MapPost("/drain", guard.Protect(Of(Drain, services)));
        app.MapPage();
        return app;
    }

    /// <summary>Says what is wrong with a request.</summary>
    private static RequestDelegate Of(Operation answer, AdminServices services) => async context =>
    {
        try
        {
            await answer(context, services);
        }
        catch (FormatException failure)
        {
            JsonAnswer.Refuse(context, StatusCodes.Status400BadRequest, failure.Message);
        }
    };

    private static RequestDelegate Of(Action<HttpContext, AdminServices> answer, AdminServices services) => Of(
        (context, shared) =>
        {
            answer(context, shared);
            return Task.CompletedTask;
        },
        services);

    private static void Drain(HttpContext context, AdminServices services)
    {
        _ = new AdminQuery(context.Request.QueryString);
        services.Life.StopApplication();
        JsonAnswer.Write(context, static json => json.WriteBoolean("draining", true));
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
