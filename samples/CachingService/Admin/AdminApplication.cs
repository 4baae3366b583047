using System.Net;

namespace CachingService.Admin;

/// <summary>
/// The operator's side: an application of its own on a listener of its own, because a filter by Host header in the public one would
/// believe what the client says. Read only.
/// </summary>
internal static class AdminApplication
{
    /// <param name="url">Listen address.</param>
    /// <param name="collector">What <c>GET /metrics</c> shows.</param>
    /// <param name="configureLogging">The same as the public application's.</param>
    public static WebApplication Build(string url, MetricsCollector collector, Action<ILoggingBuilder> configureLogging)
    {
        WebApplicationBuilder builder = WebApplication.CreateEmptyBuilder(new());
        builder.WebHost.UseKestrel(kestrel => kestrel.AddServerHeader = false).UseUrls(url);
        builder.Services.AddRoutingCore().Configure<ConsoleLifetimeOptions>(console => console.SuppressStatusMessages = true);
        configureLogging(builder.Logging);
        WebApplication app = builder.Build();
        app.Use(RefuseHostNamesAsync);
        app.UseRouting();
        app.MapGet("/metrics", () => Results.Text(collector.Write(), "text/plain; version=0.0.4"));
        app.MapPage();
        return app;
    }

    /// <summary>
    /// A web page could point a name of its own at this address and read the answer from a visitor's browser (DNS rebinding); it cannot
    /// do so with <c>localhost</c> or an IP address.
    /// </summary>
    private static Task RefuseHostNamesAsync(HttpContext context, RequestDelegate next)
    {
        string host = context.Request.Host.Host;
        if (host.Equals("localhost", StringComparison.OrdinalIgnoreCase) || IPAddress.TryParse(host, out _))
        {
            return next(context);
        }

        context.Response.StatusCode = StatusCodes.Status403Forbidden;
        return Task.CompletedTask;
    }
}
