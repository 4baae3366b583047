using IoUringCache.Caching.Filling;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Load;
using IoUringCache.Caching.Options;
using IoUringCache.Caching.Origins;
using IoUringCache.Caching.Storage;
using IoUringCache.Caching.Telemetry;
using Microsoft.AspNetCore.Http.Features;

namespace IoUringCache.Caching.Serving;

/// <summary>Every request for an object of a route: decides between hit, subscribe, create and pass. Any thread; one per service.</summary>
internal sealed class ObjectEndpoint(
    ObjectStore store,
    FillTable fills,
    KeyMarkers markers,
    WaitingRoom waiting,
    PassThrough pass,
    UpgradePass upgrades,
    FetchRequests requests,
    Delivery delivery,
    CacheMetrics metrics,
    LiveOptions options,
    Proxy proxy,
    CacheStatus status,
    OwnAnswer answers,
    LoadGauge load,
    TimeProvider time)
{
    /// <summary>
    /// How often a request looks for something to have because what it has waited for was chosen by fields in which it differs, was purged, or
    /// was an error that may be another client's own.
    /// </summary>
    private const int MaxLooks = 3;

    public async Task HandleAsync(HttpContext context, ObjectAddress address)
    {
        long begun = time.GetTimestamp();
        RequestOutcome outcome = RequestOutcome.Cut;
        try
        {
            outcome = await AnswerAsync(context, address);
        }
        catch (OperationCanceledException) when (context.RequestAborted.IsCancellationRequested)
        {
            // The client has gone. Nobody is left to tell.
        }
        catch (OriginException failure) when (!context.Response.HasStarted)
        {
            outcome = Fail(context, failure);
        }
        catch (Exception) when (context.Response.HasStarted)
        {
            // A clean end here would make half a body look whole. The server logs the exception.
            context.Abort();
            throw;
        }
        finally
        {
            metrics.Answered(context, outcome, time.GetElapsedTime(begun), address.Policy.Prefix);
        }
    }

    private ValueTask<RequestOutcome> AnswerAsync(HttpContext context, ObjectAddress address)
    {
        HttpRequest request = context.Request;
        bool hasCacheableMethod = HttpMethods.IsGet(request.Method) || HttpMethods.IsHead(request.Method);
        bool hasBody = context.Features.Find<IHttpRequestBodyDetectionFeature>()?.CanHaveBody == true;
        bool isUpgrade = upgrades.IsAskedFor(context, hasBody);
        if (!HttpMethods.IsGet(request.Method) && IsRefused(request.Method, isUpgrade))
        {
            answers.MethodNotAllowed(context, MethodRules.Allowed);
            return new(RequestOutcome.Own);
        }

        if (address.Key.Length == 0)
        {
            answers.NoId(context);
            return new(RequestOutcome.Own);
        }

        if (proxy.IsLoop(request.Headers))
        {
            answers.Send(context, StatusCodes.Status508LoopDetected, "loop");
            return new(RequestOutcome.Own);
        }

        ReaderRate.Apply(context, address, options.Now.Routes);

        if (!hasCacheableMethod && MaxForwards.IsUsedUp(request))
        {
            answers.Options(context, MethodRules.Allowed, "max-forwards");
            return new(RequestOutcome.Own);
        }

        if (!hasCacheableMethod || isUpgrade)
        {
            return PassAsync(context, address, isUpgrade ? UpgradePass.Reason : null, hasBody && !isUpgrade);
        }

        if (SharingRules.RefusalOf(request.Headers, hasBody, address.MustPass ? CookieUse.Bypass : address.Policy.Cookies) is { } refusal)
        {
            return PassAsync(context, address, refusal, hasBody);
        }

        RequestDirectives? asked = options.Now.RequestDirectives == DirectiveUse.Honour ? RequestDirectives.OfAge(request.Headers) : null;
        if (store.TryGet(address.Key, request.Headers, out CachedObject? stored)
            && SharingRules.MayReuse(stored.Head, request.Headers)
            && asked?.Permit(stored.Age, stored.TimeToLive, mayBeStale: false) != false)
        {
            return HitAsync(context, address, stored);
        }

        bool isOnlyIfCached = RequestDirectives.ForbidForwarding(request.Headers);
        if (FindStale(address.Key, request.Headers, asked, isOnlyIfCached) is { } stale)
        {
            return StaleHitAsync(context, address, stale, ReasonToLeaveTheOriginAlone(stale));
        }

        if (isOnlyIfCached)
        {
            answers.Send(context, StatusCodes.Status504GatewayTimeout, "only-if-cached");
            return new(RequestOutcome.Own);
        }

        return SharingRules.RefusalOnMissOf(request.Headers) is { } reason ? AskAloneAsync(context, address, reason)
            : markers.Find(address.Key) is { } marker ? PassAsync(context, address, marker)
            : HasLeft(context) ? new(RequestOutcome.Cut)
            : JoinOrCreateAsync(context, address, asked);
    }

    /// <summary>A stale object that this client is content with, without the origin being asked.</summary>
    private CachedObject? FindStale(string key, IHeaderDictionary request, RequestDirectives? asked, bool isOnlyIfCached) =>
        store.Find(key, request) is { IsKept: true, IsFresh: false, MayBeStale: true } stale
        && SharingRules.MayReuse(stale.Head, request)
        && (asked?.Permit(stale.Age, stale.TimeToLive, stale.Verdict.MayBeStale) ?? (isOnlyIfCached && stale.MayPrecedeValidation)) ? stale : null;

    private async ValueTask<RequestOutcome> HitAsync(HttpContext context, ObjectAddress address, CachedObject stored)
    {
        stored.Body.OnHit();
        using HitReader reader = new(stored, context);
        FoundObject found = new(RequestOutcome.Hit, status.Hit(stored.TimeToLive));
        return await delivery.SendAsync(context, address, stored.Head, reader, found, tellsAge: true);
    }

    private async ValueTask<RequestOutcome> StaleHitAsync(HttpContext context, ObjectAddress address, CachedObject stale, string? detail)
    {
        using HitReader reader = new(stale, context);
        FoundObject found = new(RequestOutcome.Stale, status.StaleHit(stale.TimeToLive, detail));
        return await delivery.SendAsync(context, address, stale.Head, reader, found, tellsAge: true);
    }

    private ValueTask<RequestOutcome> PassAsync(HttpContext context, ObjectAddress address, string? reason, bool hasBody = false) =>
        HasLeft(context) ? new(RequestOutcome.Cut) : pass.HandleAsync(context, address, reason, hasBody);

    /// <summary>
    /// What a GET with credentials brings is stored where the origin says that it is for others too (RFC 9111 3.5). An end point of this process
    /// has them from the client's context, and so answers on that alone.
    /// </summary>
    private async ValueTask<RequestOutcome> AskAloneAsync(HttpContext context, ObjectAddress address, string reason)
    {
        if (SharingRules.IsForCredentials(reason) && address.Route.Origin is not EndpointOrigin && HttpMethods.IsGet(context.Request.Method) && markers.Look(address.Key) is null)
        {
            MissedRequest miss = requests.OfOneClient(context, address, reason);
            if (fills.CreateForOneClient(miss) is { } reader)
            {
                using (reader)
                {
                    return (await SubscribeAsync(context, miss, reader))!.Value;
                }
            }
        }

        return await PassAsync(context, address, reason);
    }

    private static string? ReasonToLeaveTheOriginAlone(CachedObject stale) => stale.IsHeldOff ? "origin-failed" : null;

    /// <summary>
    /// By which fields responses differ is known at headers: those who waited for another variant than theirs look again, and form one fill
    /// for each variant. So does the client that had it asked for, if the response names a field of its own that was not sent. An origin that
    /// names other fields with each answer is not followed for ever. A HEAD has its answer from the headers of a fill, and takes no body.
    /// </summary>
    private async ValueTask<RequestOutcome> JoinOrCreateAsync(HttpContext context, ObjectAddress address, RequestDirectives? asked)
    {
        if (FieldText.HoldControl(context.Request.Headers))
        {
            answers.MalformedField(context);
            return RequestOutcome.Own;
        }

        MissedRequest miss = requests.Of(context, address, asked);
        for (int look = 0; look < MaxLooks; look++)
        {
            if (await TryAnswerAsync(context, miss, fills.JoinOrCreate(miss)) is { } outcome)
            {
                return outcome;
            }

            metrics.BrokenOut();
        }

        return await PassAsync(context, address, miss.TurnedAwayBy);
    }

    /// <returns><see langword="null"/> if what this client waited for does not suit it, or was purged before it came.</returns>
    private async ValueTask<RequestOutcome?> TryAnswerAsync(HttpContext context, MissedRequest miss, Lookup found)
    {
        switch (found)
        {
            case { Hit: { IsFresh: false } stale }:
                return await StaleHitAsync(context, miss.Address, stale, ReasonToLeaveTheOriginAlone(stale));
            case { Hit: { } stored }:
                return await HitAsync(context, miss.Address, stored);
            case { Reader: { } reader }:
                using (reader)
                {
                    return await SubscribeAsync(context, miss, reader);
                }

            case { Refusal: { } refusal }:
                return await PassAsync(context, miss.Address, refusal);
            default:
                return await RefuseAsync(context, miss.Address, OriginException.Overloaded(found.Overload!));
        }
    }

    /// <summary>Waits for the headers of a fill and follows it, if this client may have the response.</summary>
    /// <returns>
    /// <see langword="null"/>, with nothing sent, if the response is for those with other fields than this client's, or for earlier ones, or is
    /// an error that may be another client's own.
    /// </returns>
    private async ValueTask<RequestOutcome?> SubscribeAsync(HttpContext context, MissedRequest miss, FillReader reader)
    {
        RequestOutcome outcome = reader.IsLeader ? RequestOutcome.Miss : RequestOutcome.Join;
        metrics.Found(outcome);
        metrics.ServedOf(context)?.Asked = reader.Asked;
        FillHeaders headers = await waiting.WaitAsync(
            reader, miss.Address.Policy, load.StepOf(context.Features), context.Features.GetScheduler(), context.RequestAborted);
        switch (headers)
        {
            case { Refusal: { } refusal, Shared: null } when reader.TakeResponse() is { } response:
                return await RelayAsync(context, miss, reader, response, refusal);
            case { Refusal: SharingRules.ClientError }:
                miss.TurnAway(SharingRules.ClientError);
                return null;
            case { Refusal: { } refusal } when headers.Shared is null || !reader.IsLeader:
                // First out of the fill, which must not wait for one who does not read.
                reader.Dispose();
                return store.TryGet(miss.Key, miss.Fields, out CachedObject? stored)
                    ? await HitAsync(context, miss.Address, stored)
                    : await PassAsync(context, miss.Address, refusal);
            case { Shared: { } shared } when reader.Role != ReaderRole.InFlight && !MayHave(miss, reader, shared, headers):
                miss.TurnAway(shared.Verdict.Vary);
                return null;
            case { Shared.Head.ContentLength: { } length } when length > options.Now.MaxObjectBytes && WantsRange(context.Request):
                // Not kept for anybody, so there is no use in receiving all that lies before the range. First out of the fill, which ends.
                reader.Dispose();
                return await PassAsync(context, miss.Address, "too-large");
            case { Shared: { } shared }:
                bool tellsAge = !reader.IsLeader || headers.IsFromStore;
                FoundObject found = new(outcome, status.Of(shared, headers, reader, options.Now));
                return await delivery.SendAsync(context, miss.Address, reader.Head, reader.Reader, found, tellsAge, reader);
            case { Failure: { RetryAfter: not null } refused }:
                // First out of the fill, as above.
                reader.Dispose();
                return await RefuseAsync(context, miss.Address, refused);
            default:
                return Fail(context, headers.Failure!);
        }
    }

    /// <summary>
    /// The response is for this client alone, and so must be the answer to all that it has sent: unless the origin has failed, it is asked once
    /// more where the fetch has left out fields of the client's application, or has asked for a part.
    /// </summary>
    private async ValueTask<RequestOutcome> RelayAsync(HttpContext context, MissedRequest miss, FillReader reader, OriginResponse response, string refusal)
    {
        using (response)
        {
            int code = response.Head.StatusCode;
            if (StatusRules.IsServerError(code) || (!FetchFields.LeaveOut(miss.Fields, reader.Sent) && SliceMark.Of(response.Head) is null))
            {
                await pass.RelayAsync(context, miss.Key, response, status.Miss(reader.Forward, code, isStored: false, refusal));
                return reader.HasCredentials ? RequestOutcome.Pass : RequestOutcome.Miss;
            }
        }

        // First out of the fill, which must not wait for one who does not read.
        reader.Dispose();
        return await PassAsync(context, miss.Address, refusal);
    }

    /// <summary>
    /// A limit of ours keeps the request from the origin. That is an error as good as any for a stale object to stand in for (RFC 5861 4).
    /// </summary>
    private ValueTask<RequestOutcome> RefuseAsync(HttpContext context, ObjectAddress address, OriginException refused)
    {
        if (store.Find(address.Key, context.Request.Headers) is { MayStandIn: true } stale && SharingRules.MayReuse(stale.Head, context.Request.Headers))
        {
            return StaleHitAsync(context, address, stale, refused.Detail);
        }

        return new(Fail(context, refused));
    }

    private RequestOutcome Fail(HttpContext context, OriginException failure)
    {
        if (failure.RetryAfter is not null)
        {
            metrics.Refused(failure.Detail);
        }

        if (failure.Detail == LoadGauge.Detail)
        {
            load.Refused();
        }

        answers.Failed(context, failure);
        return RequestOutcome.Own;
    }

    /// <summary>
    /// The server still runs what a client had pipelined before it left. That there is nobody to answer would be found out in the middle of a
    /// pass or a wait, by exceptions that cost more than the request. A hit costs less than to ask.
    /// </summary>
    private static bool HasLeft(HttpContext context) => context.RequestAborted.IsCancellationRequested;

    /// <summary>
    /// TRACE would show a client what we add for the origin's eyes (RFC 9110 9.3.8). In other letters HEAD is another method (9.1), to which the server
    /// wants a body, and which the origin would get in capitals.
    /// </summary>
    private static bool IsRefused(string method, bool isUpgrade) => HttpMethods.IsTrace(method)
        || (HttpMethods.IsConnect(method) && !isUpgrade)
        || (HttpMethods.IsHead(method) && method != HttpMethods.Head);

    private static bool WantsRange(HttpRequest request) => request.Headers.Range.Count > 0 && HttpMethods.IsGet(request.Method);

    /// <summary>
    /// Of one who joined before anybody knew whom the response would suit. The old object may stand in whatever was purged since, and who had
    /// it asked for has what was there then.
    /// </summary>
    private static bool MayHave(MissedRequest miss, FillReader reader, CachedObject shared, FillHeaders headers) =>
        shared.Suits(miss.Fields) && (reader.IsLeader || headers.Failure is not null || !reader.CameAfterPurgeOf(shared));
}
