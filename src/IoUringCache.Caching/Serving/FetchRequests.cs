using IoUringCache.Caching.Filling;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Load;
using IoUringCache.Caching.Options;
using IoUringCache.Caching.Origins;
using IoUringCache.Caching.Storage;
using IoUringCache.Caching.Telemetry;

namespace IoUringCache.Caching.Serving;

/// <summary>Makes what fetches ask of the requests of clients that cause them. Any thread; one per service.</summary>
internal sealed class FetchRequests(LiveOptions options, Proxy proxy, CacheMetrics metrics, LoadGauge load)
{
    /// <summary>For what others may have too.</summary>
    public MissedRequest Of(HttpContext context, ObjectAddress address, RequestDirectives? asked) =>
        Make(context, address, asked, known => Ask(context, address, known) is { } request ? request with { Slice = SliceOf(address) } : null);

    /// <summary>For the answer to a request with credentials.</summary>
    /// <param name="credentials">Which, as a Cache-Status detail.</param>
    public MissedRequest OfOneClient(HttpContext context, ObjectAddress address, string credentials) =>
        Make(context, address, asked: null, known => Ask(context, address, known, credentials));

    /// <summary>For a further slice of what a client is getting. That has begun, so only limits refuse it, and not the load.</summary>
    public MissedRequest OfSlice(HttpContext context, ObjectAddress address, CachedObject first, SliceRequest slice) => new()
    {
        Address = address,
        Fields = context.Request.Headers,
        MakeRequest = _ => Ask(context, address, [first.Verdict.Vary]) is { } request ? request with { Slice = slice } : null,
        Cut = context.Abort,
        Joins = address.Policy.Coalesce,
    };

    private MissedRequest Make(
        HttpContext context, ObjectAddress address, RequestDirectives? asked, Func<ReadOnlySpan<VaryRule>, OriginRequest?> makeRequest) => new()
        {
            Address = address,
            Fields = context.Request.Headers,
            MakeRequest = makeRequest,
            Cut = context.Abort,
            Asked = asked,
            Joins = address.Policy.Coalesce,
            Load = load.StepOf(context.Features),
        };

    private OriginRequest? Ask(HttpContext context, ObjectAddress address, ReadOnlySpan<VaryRule> known)
    {
        if (options.Now.FetchFields.Select(context.Request.Headers, [.. known, address.Route.KeyFields]) is not { } fields)
        {
            return null;
        }

        address.AddCookies(fields);
        proxy.Sign(fields, context.Request);
        return Ask(context, address, fields, known);
    }

    private OriginRequest? Ask(HttpContext context, ObjectAddress address, ReadOnlySpan<VaryRule> known, string credentials)
    {
        IHeaderDictionary client = context.Request.Headers;
        if (HeaderRules.ForPass(client, options.Now.UnderscoresInFields) is not { } passed
            || options.Now.FetchFields.SelectWithCredentials(client, passed, [.. known, address.Route.KeyFields]) is not { } fields)
        {
            return null;
        }

        ForwardingFields.Add(fields, context, options.Now.TrustedProxies);
        address.AddCookies(fields);
        proxy.Sign(fields, context.Request);
        return Ask(context, address, fields, known) with { Credentials = credentials };
    }

    private OriginRequest Ask(HttpContext context, ObjectAddress address, List<HeaderField> fields, ReadOnlySpan<VaryRule> known)
    {
        // Variants of a route that compresses no more are still told apart by it.
        bool isOfChoice = address.Policy.Compression.IsOn;
        foreach (VaryRule rule in known)
        {
            isOfChoice |= rule.HasChoice;
        }

        if (isOfChoice)
        {
            fields.Add(new(CodingChoice.FieldName, context.Request.Headers.AcceptEncoding));
        }

        return new(HttpMethod.Get, address, fields)
        {
            Call = address.Route.Origin is EndpointOrigin ? EndpointCall.Of(context, address) : null,
            Host = address.Route.HostOf(context.Request),
            Asked = metrics.TellsOfRequests ? new() : null,
            Trace = OriginTrace.OfFetch(context.Request, address.Key, address.Route.Origin is EndpointOrigin, address.Policy.PassTrace),
        };
    }

    /// <summary>What is larger than one object may be is not sliced larger.</summary>
    private SliceRequest? SliceOf(ObjectAddress address) =>
        address.Policy.SliceBytes > 0 && address.Route.Origin is not EndpointOrigin
            ? new(Math.Min(address.Policy.SliceBytes, options.Now.MaxObjectBytes))
            : null;
}
