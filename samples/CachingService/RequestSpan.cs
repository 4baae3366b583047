using System.Collections.Frozen;
using System.Diagnostics;
using System.Globalization;

namespace CachingService;

/// <summary>
/// The server's span of each request, filled by OpenTelemetry's conventions for HTTP, which the framework leaves to others. On the thread of the request.
/// </summary>
internal static class RequestSpan
{
    /// <summary>Of the source of the public addresses alone: the operator's requests and those of the warm-up make no spans.</summary>
    public const string SourceName = nameof(CachingService);

    /// <summary>Other methods have one name together: a client can make up any number of them.</summary>
    private static readonly FrozenSet<string> s_methods = FrozenSet.Create(
        HttpMethods.Get, HttpMethods.Head, HttpMethods.Post, HttpMethods.Put, HttpMethods.Delete, HttpMethods.Patch, HttpMethods.Options, HttpMethods.Connect,
        HttpMethods.Trace);

    /// <summary>Has a server make its spans by that source.</summary>
    public static void AddSource(IServiceCollection services) => services.AddSingleton(static _ => new ActivitySource(SourceName));

    public static Task InvokeAsync(HttpContext context, RequestDelegate next) =>
        Activity.Current is { IsAllDataRequested: true } span ? InvokeAsync(span, context, next) : next(context);

    private static async Task InvokeAsync(Activity span, HttpContext context, RequestDelegate next)
    {
        HttpRequest request = context.Request;
        bool isKnown = s_methods.Contains(request.Method);
        span.DisplayName = isKnown ? request.Method : "HTTP";
        span.SetTag("http.request.method", isKnown ? request.Method : "_OTHER")
            .SetTag("url.scheme", request.Scheme)
            .SetTag("url.path", request.Path.Value)
            .SetTag("server.address", request.Host.Host)
            .SetTag("server.port", request.Host.Port)
            .SetTag("network.protocol.version", request.Protocol[(request.Protocol.IndexOf('/') + 1)..])
            .SetTag("user_agent.original", request.Headers.UserAgent is [{ } agent, ..] ? agent : null);
        int? status = null;
        try
        {
            await next(context);
            status = context.Response.StatusCode;
        }
        finally
        {
            status ??= context.Response.HasStarted ? context.Response.StatusCode : StatusCodes.Status500InternalServerError;
            span.SetTag("http.response.status_code", status);
            if (status >= StatusCodes.Status500InternalServerError)
            {
                span.SetTag("error.type", status.Value.ToString(CultureInfo.InvariantCulture)).SetStatus(ActivityStatusCode.Error);
            }
        }
    }
}
