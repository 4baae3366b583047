using IoUringCache.Caching.Filling;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Http1;
using IoUringCache.Caching.Load;
using IoUringCache.Caching.Options;
using IoUringCache.Caching.Origins;
using IoUringCache.Caching.Telemetry;

namespace IoUringCache.Caching.Serving;

/// <summary>
/// Takes one request to the origin and its answer back, for this client alone: nothing is stored, nothing is shared, and the client's
/// leaving cancels it. Any thread; one per service.
/// </summary>
internal sealed class PassThrough(
    ResponseWriter writer,
    UpgradePass upgrades,
    Invalidation invalidation,
    KeyMarkers markers,
    CacheMetrics metrics,
    LiveOptions options,
    Proxy proxy,
    CacheStatus status,
    OwnAnswer answers,
    LoadGauge load,
    ILogger<PassThrough> log)
{
    /// <param name="context">The client's request.</param>
    /// <param name="address">What it asks for.</param>
    /// <param name="reason">Why the cache is not used, as a Cache-Status detail; <see langword="null"/> where its method says so.</param>
    /// <param name="hasBody">Whether the client sends a body.</param>
    /// <returns><see cref="RequestOutcome.Upgrade"/> if its connection went through by another protocol, else <see cref="RequestOutcome.Pass"/>.</returns>
    public ValueTask<RequestOutcome> HandleAsync(HttpContext context, ObjectAddress address, string? reason, bool hasBody)
    {
        EndpointOrigin? endpoint = address.Route.Origin as EndpointOrigin;
        if (endpoint is null && context.Request.ContentLength > options.Now.MaxRequestBodyBytes)
        {
            // The server would say so too, but only after the origin has seen the head.
            answers.Send(context, StatusCodes.Status413PayloadTooLarge, "request-body");
            return new(RequestOutcome.Pass);
        }

        if (load.StepOf(context.Features) >= LoadStep.NoNewFills)
        {
            load.Refused();
            metrics.Refused(LoadGauge.Detail);
            answers.Overloaded(context, LoadGauge.Detail);
            return new(RequestOutcome.Pass);
        }

        if (PassPlace.TryTake(metrics, options.Now, reason == UpgradePass.Reason, out string refusal) is not { } place)
        {
            metrics.Refused(refusal);
            answers.Overloaded(context, refusal);
            return new(RequestOutcome.Pass);
        }

        return endpoint is null ? AskAsync(context, address, reason, hasBody, place) : RunAsync(endpoint, context, address, reason, place);
    }

    /// <param name="place">Its own from now on.</param>
    private async ValueTask<RequestOutcome> AskAsync(HttpContext context, ObjectAddress address, string? reason, bool hasBody, PassPlace place)
    {
        using PassPlace taken = place;
        if (MakeFields(context, address) is not { } fields)
        {
            answers.MalformedField(context);
            return RequestOutcome.Own;
        }

        OriginTrace? trace = OriginTrace.OfPass(context.Request, address.Key, isInProcess: false, address.Policy.PassTrace);
        trace?.Start();
        AskedOrigin? asked = metrics.TellsOfRequests ? new() : null;
        metrics.ServedOf(context)?.Asked = asked;
        await using ClientBody? body = hasBody ? new ClientBody(context.Request.BodyReader, context.Request.ContentLength) : null;
        try
        {
            HttpMethod method = HttpMethod.Parse(context.Request.Method);
            OriginRequest request = new(method, address, fields, body)
            {
                IsPass = true,
                Scheduler = context.Features.GetScheduler(),
                Host = address.Route.HostOf(context.Request),
                Asked = asked,
                Trace = trace,
            };
            if (reason == UpgradePass.Reason)
            {
                request = UpgradePass.Ask(context, request);
            }

            IOrigin origin = address.Route.Origin;
            OriginResponse answer;
            try
            {
                answer = await origin.SendAsync(request, context.RequestAborted);
            }
            catch (OriginException failure) when (IsWorthAnotherAttempt(request, failure))
            {
                answer = await origin.SendAsync(request with { FailedAt = failure.Replica }, context.RequestAborted);
            }

            using OriginResponse response = answer;
            int code = response.Head.StatusCode;
            if (response.IsUpgraded)
            {
                place.Switched();
            }

            if (reason == UpgradePass.Reason && await upgrades.TryRunAsync(context, response, StatusOf(code, reason)))
            {
                return response.IsUpgraded ? RequestOutcome.Upgrade : RequestOutcome.Pass;
            }

            await invalidation.ApplyAsync(request.Method.Method, address, response.Head);
            if (reason is not null and not UpgradePass.Reason && HttpMethods.IsGet(context.Request.Method))
            {
                markers.Review(address, reason, response);
            }

            await RelayAsync(context, address.Key, response, StatusOf(code, reason), trace, body);
        }
        catch (OriginException) when (body?.ClientFailure is BadHttpRequestException fault)
        {
            // Not the origin's doing: the client's body broke its framing or a limit.
            answers.Send(context, fault.StatusCode, "request-body");
        }
        catch (OriginException) when (body?.ClientFailure is not null)
        {
            // The client has gone; the server may not know yet and would look for the rest of the body.
            context.Abort();
        }
        catch (OriginException failure)
        {
            trace?.Fail(failure.Detail);
            if (failure.RetryAfter is null)
            {
                metrics.FillFailed();
                CacheLog.PassFailed(log, address.Key, failure.Detail, failure.Message);
            }
            else
            {
                metrics.Refused(failure.Detail);
            }

            answers.Failed(context, failure);
        }
        finally
        {
            EndTrace(trace, reason);
        }

        return RequestOutcome.Pass;
    }

    /// <summary>An end point answers this client by itself, whatever its request is; only <c>Cache-Status</c> is added.</summary>
    /// <inheritdoc cref="AskAsync"/>
    private async ValueTask<RequestOutcome> RunAsync(EndpointOrigin endpoint, HttpContext context, ObjectAddress address, string? reason, PassPlace place)
    {
        using PassPlace taken = place;
        if (FieldText.HoldControl(context.Request.Headers))
        {
            answers.MalformedField(context);
            return RequestOutcome.Own;
        }

        OriginTrace? trace = OriginTrace.OfPass(context.Request, address.Key, isInProcess: true, address.Policy.PassTrace);
        trace?.Start();
        if (address.Cookies is { } cookies)
        {
            context.Request.Headers.Cookie = CookieRule.Join(context.Request.Headers.Cookie, cookies);
        }

        context.Response.OnStarting(async () =>
        {
            HttpResponse response = context.Response;
            int code = response.StatusCode;
            trace?.Answered(code);
            response.Headers.Append(CacheStatus.FieldName, StatusOf(code, reason));
            if (!MethodRules.IsSafe(context.Request.Method))
            {
                ResponseHead head = new(code, [.. response.Headers.Select(field => new HeaderField(field.Key, field.Value))], response.ContentLength);
                await invalidation.ApplyAsync(context.Request.Method, address, head);
            }
        });
        try
        {
            await endpoint.RunAloneAsync(context);
        }
        catch
        {
            trace?.Fail("endpoint-failed");
            throw;
        }
        finally
        {
            EndTrace(trace, reason);
        }

        return RequestOutcome.Pass;
    }

    /// <summary>Answers with a response that has come already; a body that breaks is cut visibly, with one line in the log.</summary>
    /// <param name="upload">The client's body, which may still be on its way.</param>
    public async Task RelayAsync(
        HttpContext context, string key, OriginResponse response, string cacheStatus, OriginTrace? trace = null, ClientBody? upload = null)
    {
        writer.WriteHead(context, response.Head, cacheStatus);
        if (HttpMethods.IsHead(context.Request.Method))
        {
            // The origin may have been asked by a GET: what follows is then for nobody.
            return;
        }

        try
        {
            await writer.RelayBodyAsync(context, response);
        }
        catch (OriginException) when (upload?.ClientFailure is not null)
        {
            // Not the origin's doing, as above.
            context.Abort();
        }
        catch (OriginException failure)
        {
            trace?.Fail(failure.Detail);
            metrics.FillFailed();
            metrics.ReadersCut(CutReason.Origin, 1);
            CacheLog.PassFailed(log, key, failure.Detail, failure.Message);
            context.Abort();
        }
    }

    private static void EndTrace(OriginTrace? trace, string? reason) => trace?.End(reason is null ? "method" : "bypass", reason);

    /// <summary>
    /// A kept connection may close just as the request goes out (RFC 9112 9.3.1), and another address may be up. A request with a safe method
    /// may then be sent again, once; a body is used up.
    /// </summary>
    private static bool IsWorthAnotherAttempt(OriginRequest request, OriginException failure) =>
        request.Body is null
        && MethodRules.IsSafe(request.Method.Method)
        && failure.RetryAfter is null
        && (request.Address.Route.Origin.AddressCount > 1 || failure.GetBaseException() is Http1Exception { Fault: Http1Fault.NoAnswer });

    private string StatusOf(int code, string? reason) => reason is null ? status.Method(code) : status.Pass(code, reason);

    /// <inheritdoc cref="HeaderRules.ForPass"/>
    private List<HeaderField>? MakeFields(HttpContext context, ObjectAddress address)
    {
        if (HeaderRules.ForPass(context.Request.Headers, options.Now.UnderscoresInFields) is not { } fields)
        {
            return null;
        }

        address.AddCookies(fields);
        MaxForwards.CountDown(context.Request.Method, fields);
        ForwardingFields.Add(fields, context, options.Now.TrustedProxies);
        proxy.Sign(fields, context.Request);
        return fields;
    }
}
