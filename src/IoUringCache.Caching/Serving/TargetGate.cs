using IoUringCache.Caching.Http;
using IoUringCache.Caching.Origins;
using Microsoft.AspNetCore.Http.Features;

namespace IoUringCache.Caching.Serving;

/// <summary>
/// First in the pipeline: refuses targets that are malformed or too long before routing sees their decoded form, and hands those of objects
/// over by the raw form, from which alone a key can be made. Routing, which a hit would pay for, gets the others. Any thread; one per service.
/// </summary>
/// <param name="objects">Answers requests for objects.</param>
/// <param name="answers">Answers all that is refused.</param>
/// <param name="route">Theirs, until there is another.</param>
/// <param name="keys">Says which targets are objects, and their keys.</param>
/// <param name="methods">What objects may be asked for by, for <c>Allow</c>.</param>
/// <param name="own">Paths that routing gets in any case.</param>
internal sealed class TargetGate(ObjectHandler objects, OwnAnswer answers, CacheRoute route, KeyRule keys, string methods, IReadOnlyList<string> own)
{
    private volatile CacheRoute _route = route;

    /// <summary>Of the requests that come from now on.</summary>
    public CacheRoute Route
    {
        set => _route = value;
    }

    public Task InvokeAsync(HttpContext context, RequestDelegate next)
    {
        string rawTarget = context.Features.GetRequiredFeature<IHttpRequestFeature>().RawTarget;
        if (rawTarget == "*" && HttpMethods.IsOptions(context.Request.Method))
        {
            return answers.Options(context, methods, "options");
        }

        if ((HttpMethods.IsConnect(context.Request.Method) && UpgradePass.ConnectOf(context) is null) || rawTarget == "*")
        {
            // The two forms of target that name no path belong to no other method that is served.
            return answers.MethodNotAllowed(context);
        }

        switch (RequestTarget.Check(rawTarget, out string? pathAndQuery))
        {
            case TargetVerdict.TooLong:
                answers.Send(context, StatusCodes.Status414UriTooLong, "target-too-long");
                return Task.CompletedTask;
            case TargetVerdict.Malformed:
                answers.Send(context, StatusCodes.Status400BadRequest, "malformed-target");
                return Task.CompletedTask;
            default:
                return !IsOwn(pathAndQuery) && keys.TryFind(context.Request, pathAndQuery, _route, out ObjectAddress address)
                    ? objects(context, address)
                    : next(context);
        }
    }

    private bool IsOwn(string pathAndQuery)
    {
        foreach (string path in own)
        {
            if (pathAndQuery.StartsWith(path, StringComparison.Ordinal) && (pathAndQuery.Length == path.Length || pathAndQuery[path.Length] == '?'))
            {
                return true;
            }
        }

        return false;
    }
}
