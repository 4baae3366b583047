using Microsoft.AspNetCore.Http.Features;

namespace IoUringCache.Caching.Origins;

/// <summary>
/// What an end point of this process sees of the request of the client that it is run for, besides its fields: a copy, because it is run for
/// everybody and goes on when that client leaves. Immutable.
/// </summary>
internal sealed record EndpointCall
{
    private EndpointCall()
    {
    }

    public required IHttpContextFactory Contexts { get; init; }

    public required Endpoint? Endpoint { get; init; }

    public required RouteValueDictionary RouteValues { get; init; }

    public required string Scheme { get; init; }

    public required string Host { get; init; }

    public required PathString PathBase { get; init; }

    public required PathString Path { get; init; }

    public required string QueryString { get; init; }

    /// <param name="client">The client's request.</param>
    /// <param name="address">What it asks for: its query has nothing that is not in the key.</param>
    public static EndpointCall Of(HttpContext client, ObjectAddress address) => new()
    {
        Contexts = client.RequestServices.GetRequiredService<IHttpContextFactory>(),
        Endpoint = client.GetEndpoint(),
        RouteValues = new(client.Request.RouteValues),
        Scheme = client.Request.Scheme,
        Host = address.Route.KeepsHost ? client.Request.Host.Value ?? "" : "localhost",
        PathBase = client.Request.PathBase,
        Path = client.Request.Path,
        QueryString = address.Target.IndexOf('?') is >= 0 and var query ? address.Target[query..] : "",
    };

    /// <summary>The features of a request of its own.</summary>
    /// <param name="request">Whose fields it has.</param>
    public FeatureCollection MakeFeatures(OriginRequest request)
    {
        HttpRequestFeature feature = new()
        {
            Method = request.Method.Method,
            Protocol = HttpProtocol.Http11,
            Scheme = Scheme,
            PathBase = PathBase.Value ?? "",
            Path = Path.Value ?? "",
            QueryString = QueryString,
            RawTarget = $"/{request.Address.Target}",
            Body = Stream.Null,
        };
        feature.Headers.Host = Host;
        foreach ((string name, Microsoft.Extensions.Primitives.StringValues values) in request.SentFields)
        {
            feature.Headers[name] = values;
        }

        FeatureCollection features = new();
        features.Set<IHttpRequestFeature>(feature);
        features.Set<IHttpRequestBodyDetectionFeature>(new NoBody());
        features.Set<IEndpointFeature>(new EndpointFeature(Endpoint));
        features.Set<IRouteValuesFeature>(new RouteValuesFeature { RouteValues = new(RouteValues) });
        return features;
    }

    private sealed class NoBody : IHttpRequestBodyDetectionFeature
    {
        public bool CanHaveBody => false;
    }

    private sealed class EndpointFeature(Endpoint? endpoint) : IEndpointFeature
    {
        public Endpoint? Endpoint { get; set; } = endpoint;
    }
}
