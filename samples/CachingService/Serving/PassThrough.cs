using CachingService.Admin;
using CachingService.Http;
using CachingService.Options;
using CachingService.Origins;
using Microsoft.Net.Http.Headers;

namespace CachingService.Serving;

/// <summary>
/// Takes one request to the origin and its answer back, for this client alone: nothing is stored, nothing is shared, and the client's
/// leaving cancels it. Any thread; one per service.
/// </summary>
internal sealed class PassThrough(OriginClient origin, ResponseWriter writer, CacheMetrics metrics, CacheOptions options, Proxy proxy, ILogger<PassThrough> log)
{
    public async Task HandleAsync(HttpContext context, string key, string reason, bool hasBody)
    {
        if (!metrics.TryStartPass(options.MaxPasses))
        {
            metrics.Refused();
            OwnAnswer.Overloaded(context, "too-many-passes");
            return;
        }

        try
        {
            var method = HttpMethods.IsHead(context.Request.Method) ? HttpMethod.Head : HttpMethod.Get;
            var request = new OriginRequest(method, key, MakeFields(context), hasBody ? context.Request.Body : null);
            using var response = await origin.SendAsync(request, context.RequestAborted);
            await RelayAsync(context, key, response, CacheStatus.Pass(response.Head.StatusCode, reason));
        }
        catch (OriginException failure) when (failure.GetBaseException() is BadHttpRequestException fault)
        {
            // The request could not be sent because the client's own body broke its framing or a limit.
            OwnAnswer.Send(context, fault.StatusCode, "request-body");
        }
        catch (OriginException failure)
        {
            metrics.FillFailed();
            PassLog.Failed(log, key, failure.Detail, failure.Message);
            OwnAnswer.Send(context, failure.StatusCode, failure.Detail);
        }
        finally
        {
            metrics.PassEnded();
        }
    }

    /// <summary>Answers with a response that has come already; a body that breaks is cut visibly, with one line in the log.</summary>
    public async Task RelayAsync(HttpContext context, string key, OriginResponse response, string cacheStatus)
    {
        writer.WriteHead(context, response.Head, cacheStatus);
        try
        {
            await writer.RelayBodyAsync(context, response);
        }
        catch (OriginException failure)
        {
            metrics.FillFailed();
            metrics.ReadersCut(1);
            PassLog.Failed(log, key, failure.Detail, failure.Message);
            context.Abort();
        }
    }

    private List<HeaderField> MakeFields(HttpContext context)
    {
        var request = context.Request;
        var fields = HeaderRules.ForPass(request.Headers);
        fields.Add(new("X-Forwarded-For", context.Connection.RemoteIpAddress?.ToString() ?? "unknown"));
        fields.Add(new("X-Forwarded-Proto", request.Scheme));
        if (request.ContentLength is { } length)
        {
            fields.Add(new(HeaderNames.ContentLength, length.ToString(System.Globalization.CultureInfo.InvariantCulture)));
        }

        proxy.Sign(fields, request);
        return fields;
    }
}
