using IoUringCache.Caching.Http;
using IoUringCache.Caching.Origins;
using Microsoft.AspNetCore.Http.Features;

namespace IoUringCache.Caching.Serving;

/// <summary>
/// First in the pipeline: refuses targets that are malformed or too long before routing sees their decoded form, and hands those of objects
/// over by the raw form, from which alone a key can be made. Routing, which a hit would pay for, gets the others. Any thread; one per service.
/// </summary>
/// <param name="own">Paths that routing gets in any case.</param>
internal sealed class TargetGate(OwnAnswer answers, GateTable table, IEnumerable<string> own)
{
    private readonly string[] _own = [.. own];
    private volatile GateTable _table = table;

    /// <summary>Of the requests that come from now on.</summary>
    public GateTable Table
    {
        set => _table = value;
    }

    public Task InvokeAsync(HttpContext context, RequestDelegate next)
    {
        string rawTarget = context.Features.GetRequiredFeature<IHttpRequestFeature>().RawTarget;
        if (rawTarget == "*" && HttpMethods.IsOptions(context.Request.Method))
        {
            return answers.Options(context, _table.Methods, "options");
        }

        if ((HttpMethods.IsConnect(context.Request.Method) && UpgradePass.ConnectOf(context) is null) || rawTarget == "*")
        {
            // The two forms of target that name no path belong to no other method that is served.
            return answers.MethodNotAllowed(context);
        }

        TargetVerdict verdict = RequestTarget.Check(rawTarget, out string pathAndQuery);
        if (verdict != TargetVerdict.Valid)
        {
            return answers.BadTarget(context, verdict);
        }

        GateTable table = _table;
        return IsOwn(pathAndQuery)
            || table.Find(context.Request, pathAndQuery) is not { } found
            || !found.Keys.TryFind(context.Request, pathAndQuery, found.Route, out ObjectAddress address) ? next(context)
            : table.Guard?.MustRefuse(context.Request, pathAndQuery, found) == true ? answers.OtherSpelling(context)
            : found.Objects(context, address);
    }

    /// <summary>
    /// Last in the pipeline, for what routing finds nothing for: 400 for a path that is an object's only when it is decoded, else 404, also for
    /// the path of the objects without an id.
    /// </summary>
    public Task RefuseAsync(HttpContext context)
    {
        string objects = _table.PublicPath;
        return objects == "/" || !context.Request.Path.StartsWithSegments(objects[..^1], StringComparison.OrdinalIgnoreCase, out PathString id)
            ? answers.NotFound(context)
            : id.Value is null or "" or "/" ? answers.NoId(context)
            : answers.OtherSpelling(context);
    }

    private bool IsOwn(string pathAndQuery)
    {
        foreach (string path in _own)
        {
            if (pathAndQuery.StartsWith(path, StringComparison.Ordinal) && (pathAndQuery.Length == path.Length || pathAndQuery[path.Length] == '?'))
            {
                return true;
            }
        }

        return false;
    }
}
