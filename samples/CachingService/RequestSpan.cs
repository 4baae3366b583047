using System.Collections.Frozen;
using System.Diagnostics;
using System.Globalization;
using IoUringCache.Caching.Http;

namespace CachingService;

/// <summary>
/// The server's span of each request whose trace is recorded, by OpenTelemetry's conventions for HTTP. The framework would make one of each other request
/// too, which no exporter sends and which costs a tenth of a hit. Any thread; one per service, each call on the thread of its request.
/// </summary>
/// <param name="share">Of the requests that come without a trace, from 0 to 1: they begin one.</param>
internal sealed class RequestSpan(double share)
{
    public const string SourceName = nameof(CachingService);

    private static readonly ActivitySource s_source = new(SourceName);

    /// <summary>Other methods have one name together: a client can make up any number of them.</summary>
    private static readonly FrozenSet<string> s_methods = FrozenSet.Create(
        HttpMethods.Get, HttpMethods.Head, HttpMethods.Post, HttpMethods.Put, HttpMethods.Delete, HttpMethods.Patch, HttpMethods.Options, HttpMethods.Connect,
        HttpMethods.Trace);

    /// <summary>Second in the pipeline, after the drain, so that the access log knows the trace. Health checks have none, and the warm-up is one.</summary>
    public Task InvokeAsync(HttpContext context, RequestDelegate next)
    {
        ActivityContext client = TraceFields.Of(context.Request.Headers)?.ToContext() ?? default;
        bool isRecorded = client == default ? Random.Shared.NextDouble() < share : client.TraceFlags.HasFlag(ActivityTraceFlags.Recorded);
        return isRecorded && !HealthEndpoints.IsOneOf(context.Request.Path) ? InvokeAsync(client, context, next) : next(context);
    }

    private static async Task InvokeAsync(ActivityContext client, HttpContext context, RequestDelegate next)
    {
        HttpRequest request = context.Request;
        bool isKnown = s_methods.Contains(request.Method);

        // The host makes one of its own for its log, where that category is on.
        Activity.Current = null;
        using Activity? span = s_source.StartActivity(isKnown ? request.Method : "HTTP", ActivityKind.Server, client);
        if (span is null)
        {
            // The exporter has been disposed.
            await next(context);
            return;
        }

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
