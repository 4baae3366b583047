using CachingService.Options;
using IoUringCache.Caching.Serving;
using IoUringCache.Clustering;

namespace CachingService;

/// <summary>
/// What load balancers and supervisors ask, on either listener: <c>/health</c>, whether the process answers, and <c>/ready</c>, whether it wants
/// requests. Their checks often come without a <c>Host</c> or under a name of their own, and HAProxy's by OPTIONS. Any thread.
/// <para>
/// Each handler takes the context: for other parameters and results the framework would compile code at the first request, which comes before the
/// service is ready.
/// </para>
/// </summary>
internal static class HealthEndpoints
{
    public const string Health = "/health";

    private const string Ready = "/ready";

    private static readonly string[] s_methods = [HttpMethods.Get, HttpMethods.Head, HttpMethods.Options];

    /// <summary>True for a path of one of them.</summary>
    public static bool IsOneOf(PathString path) => path == Health || path == Ready;

    /// <summary>Those on the public addresses.</summary>
    public static IReadOnlyList<string> PathsOf(ServiceOptions options) => options.PublicReady ? [Health, Ready] : [Health];

    public static void MapHealth(this WebApplication app, OwnAnswer answers)
    {
        app.MapMethods(Health, s_methods, static context => Results.Text("OK").ExecuteAsync(context));
        app.Map(Health, answers.RefuseMethod);
    }

    /// <param name="service">The public application's life: it is ready when it has started, until it stops.</param>
    /// <param name="cluster">Other nodes: it is ready when it knows what they have purged, or that it cannot know.</param>
    public static void MapReady(this WebApplication app, OwnAnswer answers, IHostApplicationLifetime service, PurgeCluster? cluster)
    {
        app.MapMethods(Ready, s_methods, context =>
        {
            // An answer from before the drain would keep requests coming.
            context.Response.Headers.CacheControl = "no-store";
            IResult answer = service.ApplicationStopping.IsCancellationRequested ? NotReady("draining")
                : !service.ApplicationStarted.IsCancellationRequested ? NotReady("starting")
                : cluster?.State switch
                {
                    ClusterState.Starting => NotReady("reading the log of purges"),
                    ClusterState.CutOff => Results.Text("degraded: cut off from the log of purges"),
                    _ => Results.Text("OK"),
                };
            return answer.ExecuteAsync(context);
        });
        app.Map(Ready, answers.RefuseMethod);
    }

    private static IResult NotReady(string reason) => Results.Text(reason, statusCode: StatusCodes.Status503ServiceUnavailable);

    private static Task RefuseMethod(this OwnAnswer answers, HttpContext context) => answers.MethodNotAllowed(context, string.Join(", ", s_methods));
}
