using IoUringCache.Caching.Serving;
using Microsoft.AspNetCore.Cors.Infrastructure;
using Microsoft.Extensions.Logging.Abstractions;
using Microsoft.Net.Http.Headers;

namespace CachingService.Routes;

/// <summary>
/// Says whose scripts may use the objects of a route (CORS), by ASP.NET's own rules: preflights are answered here, and what the origin says of it is
/// replaced. What is stored is the same for all. Any thread; one per route.
/// </summary>
internal sealed class CrossOriginRule(CorsPolicy policy)
{
    private const string FieldPrefix = "Access-Control-";

    private readonly CorsService _service =
        new(Microsoft.Extensions.Options.Options.Create(new Microsoft.AspNetCore.Cors.Infrastructure.CorsOptions()), NullLoggerFactory.Instance);

    public ObjectHandler Before(ObjectHandler next) => (context, address) =>
    {
        CorsResult result = _service.EvaluatePolicy(context, policy);
        if (result.IsPreflightRequest)
        {
            context.Response.StatusCode = StatusCodes.Status204NoContent;
            Apply(context.Response, result);
            return Task.CompletedTask;
        }

        context.Response.OnStarting(() =>
        {
            Apply(context.Response, result);
            return Task.CompletedTask;
        });
        return next(context, address);
    };

    private void Apply(HttpResponse response, CorsResult result)
    {
        foreach (string name in response.Headers.Keys.Where(static name => name.StartsWith(FieldPrefix, StringComparison.OrdinalIgnoreCase)).ToArray())
        {
            response.Headers.Remove(name);
        }

        if (!policy.AllowAnyOrigin)
        {
            // Also where the answer is no: a cache in front may have it for others.
            result.VaryByOrigin = false;
            response.Headers.Append(HeaderNames.Vary, HeaderNames.Origin);
        }

        _service.ApplyResult(result, response);
    }
}
