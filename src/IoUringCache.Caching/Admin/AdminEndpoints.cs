using IoUringCache.Caching.Engine;
using IoUringCache.Caching.Serving;

namespace IoUringCache.Caching.Admin;

/// <summary>
/// What an operator asks of a cache, over HTTP. Figures are for everybody who gets here; keys, and all that changes anything, are for those whom
/// the guard lets through. Any thread.
/// </summary>
internal static class AdminEndpoints
{
    private delegate Task Operation(HttpContext context, CacheEngine cache);

    /// <param name="guard">Of all but the figures.</param>
    public static void Map(IEndpointRouteBuilder routes, Func<HttpContext, CacheEngine> cacheOf, Func<HttpContext, CancellationToken> stopping, AdminGuard guard)
    {
        routes.MapGet("/metrics", context =>
            Results.Text(cacheOf(context).Collector.Write(), "text/plain; version=0.0.4").ExecuteAsync(context));
        routes.MapGet("/stats", Guarded((context, cache) => Done(() => StatsEndpoint.Answer(context, cache, stopping(context).IsCancellationRequested))));
        routes.MapGet("/fills", Guarded(static (context, cache) => Done(() => FillsEndpoint.Answer(context, cache))));
        routes.MapGet("/entry", Guarded(static (context, cache) => Done(() => EntryEndpoint.Answer(context, cache))));
        routes.MapPost("/purge", Guarded(static (context, cache) => PurgeEndpoint.AnswerAsync(context, cache)));

        RequestDelegate Guarded(Operation answer) => guard.Protect(Explained(context => answer(context, cacheOf(context))));
    }

    /// <summary>Says what is wrong with a request.</summary>
    public static RequestDelegate Explained(RequestDelegate answer) => async context =>
    {
        try
        {
            await answer(context);
        }
        catch (FormatException failure)
        {
            JsonAnswer.Refuse(context, StatusCodes.Status400BadRequest, failure.Message);
        }
    };

    private static Task Done(Action answer)
    {
        answer();
        return Task.CompletedTask;
    }
}
