using CachingService.Admin;
using CachingService.Filling;
using CachingService.Http;
using CachingService.Options;
using CachingService.Origins;
using CachingService.Storage;
using Microsoft.AspNetCore.Http.Features;

namespace CachingService.Serving;

/// <summary><c>/object/{**id}</c>: decides between hit, subscribe, create and pass. Any thread; one per service.</summary>
internal sealed class ObjectEndpoint(
    ObjectStore store, FillTable fills, PassThrough pass, Delivery delivery, CacheMetrics metrics, CacheOptions options, Proxy proxy)
{
    public async Task HandleAsync(HttpContext context)
    {
        try
        {
            await AnswerAsync(context);
        }
        catch (OperationCanceledException) when (context.RequestAborted.IsCancellationRequested)
        {
            // The client has gone. Nobody is left to tell.
        }
        catch (Exception) when (context.Response.HasStarted)
        {
            // A clean end here would make half a body look whole. The server logs the exception.
            context.Abort();
            throw;
        }
    }

    private Task AnswerAsync(HttpContext context)
    {
        HttpRequest request = context.Request;
        string target = context.Features.GetRequiredFeature<CheckedTarget>().PathAndQuery;
        if (!RequestTarget.TryGetKey(target, out string? key) && !RequestTarget.IsBareObject(target))
        {
            // Routing found the way here by another spelling of the path, under which the key would be ambiguous.
            OwnAnswer.Send(context, StatusCodes.Status400BadRequest, "malformed-target");
            return Task.CompletedTask;
        }

        bool isHead = HttpMethods.IsHead(request.Method);
        bool hasCacheableMethod = isHead || HttpMethods.IsGet(request.Method);
        if (!hasCacheableMethod && HttpMethods.IsTrace(request.Method))
        {
            // It would show a client what we add for the origin's eyes (RFC 9110 9.3.8). The gate has stopped CONNECT.
            return OwnAnswer.MethodNotAllowed(context, MethodRules.Allowed);
        }

        if (key.Length == 0)
        {
            OwnAnswer.Send(context, StatusCodes.Status404NotFound, "empty-id");
            return Task.CompletedTask;
        }

        if (proxy.IsLoop(request.Headers))
        {
            OwnAnswer.Send(context, StatusCodes.Status508LoopDetected, "loop");
            return Task.CompletedTask;
        }

        bool hasBody = context.Features.Get<IHttpRequestBodyDetectionFeature>()?.CanHaveBody == true;
        if (!hasCacheableMethod)
        {
            return pass.HandleAsync(context, key, reason: null, hasBody);
        }

        if (SharingRules.RefusalOf(request.Headers, hasBody) is { } refusal)
        {
            return pass.HandleAsync(context, key, refusal, hasBody);
        }

        if (store.TryGet(key, out CachedObject? stored))
        {
            return HitAsync(context, stored);
        }

        return SharingRules.RefusalOnMissOf(request.Headers) is { } refusalOnMiss ? pass.HandleAsync(context, key, refusalOnMiss, hasBody: false)
            : isHead ? HeadMissAsync(context, key)
            : JoinOrCreateAsync(context, key);
    }

    private async Task HitAsync(HttpContext context, CachedObject stored)
    {
        metrics.Hit();
        using ObjectReader reader = new(stored);
        await delivery.SendAsync(context, stored.Head, reader, CacheStatus.Hit(stored.TimeToLive), tellsAge: true);
    }

    /// <summary>HEAD starts no fill, but takes the headers of one that is in flight.</summary>
    private async Task HeadMissAsync(HttpContext context, string key)
    {
        if (fills.TryJoin(key, context.Abort) is { } reader)
        {
            using (reader)
            {
                await SubscribeAsync(context, key, reader);
            }
        }
        else
        {
            await pass.HandleAsync(context, key, "head-miss", hasBody: false);
        }
    }

    private async Task JoinOrCreateAsync(HttpContext context, string key)
    {
        Lookup found = fills.JoinOrCreate(key, () => MakeFillRequest(context, key), context.Abort);
        switch (found)
        {
            case { Hit: { } stored }:
                await HitAsync(context, stored);
                break;
            case { Reader: { } reader }:
                using (reader)
                {
                    await SubscribeAsync(context, key, reader);
                }

                break;
            default:
                metrics.Refused();
                OwnAnswer.Overloaded(context, found.Overload!);
                break;
        }
    }

    /// <summary>Waits for the headers of a fill and follows it, if this client may have the response.</summary>
    private async Task SubscribeAsync(HttpContext context, string key, FillReader reader)
    {
        CountJoin(reader.Role);
        switch (await reader.Headers.WaitAsync(context.RequestAborted))
        {
            case { Shared.Head.ContentLength: { } length } when length > options.MaxObjectBytes && WantsRange(context.Request):
                // Not kept for anybody, so there is no use in receiving all that lies before the range. First out of the fill, which ends.
                reader.Dispose();
                await pass.HandleAsync(context, key, "too-large", hasBody: false);
                break;
            case { Shared: { } shared }:
                string cacheStatus = DescribeJoin(shared, reader.Role);
                await delivery.SendAsync(context, reader.Head, reader.Reader, cacheStatus, tellsAge: reader.Role != ReaderRole.Leader);
                break;
            case { Failure: { } failure }:
                OwnAnswer.Send(context, failure.StatusCode, failure.Detail);
                break;
            case { Refusal: { } refusal } when reader.TakeResponse() is { } response:
                using (response)
                {
                    await pass.RelayAsync(context, key, response, CacheStatus.Miss(response.Head.StatusCode, isStored: false, refusal));
                }

                break;
            case { Refusal: var refusal }:
                await pass.HandleAsync(context, key, refusal!, hasBody: false);
                break;
        }
    }

    private OriginRequest MakeFillRequest(HttpContext context, string key)
    {
        List<HeaderField> fields = HeaderRules.ForFill(context.Request.Headers);
        proxy.Sign(fields, context.Request);
        return new(HttpMethod.Get, key, fields);
    }

    private static bool WantsRange(HttpRequest request) => request.Headers.Range.Count > 0 && HttpMethods.IsGet(request.Method);

    private void CountJoin(ReaderRole role)
    {
        if (role == ReaderRole.Leader)
        {
            metrics.Missed();
        }
        else
        {
            metrics.Joined();
        }
    }

    private static string DescribeJoin(CachedObject shared, ReaderRole role) => role switch
    {
        ReaderRole.Leader => CacheStatus.Miss(shared.Head.StatusCode, shared.Verdict.CanStore, refusal: null),
        ReaderRole.Collapsed => CacheStatus.Collapsed,
        _ => CacheStatus.InFlight,
    };
}
