using CachingService.Http;
using Microsoft.AspNetCore.Http.Features;

namespace CachingService.Serving;

/// <summary>
/// First in the pipeline: refuses targets that are malformed or too long before routing sees their decoded form, and keeps the checked
/// raw one for the handlers. Any thread.
/// </summary>
internal static class TargetGate
{
    public static Task InvokeAsync(HttpContext context, RequestDelegate next)
    {
        string rawTarget = context.Features.GetRequiredFeature<IHttpRequestFeature>().RawTarget;
        if (HttpMethods.IsConnect(context.Request.Method) || rawTarget == "*")
        {
            // The two forms of target that name no path belong to methods that are not served.
            return OwnAnswer.MethodNotAllowed(context);
        }

        switch (RequestTarget.Check(rawTarget, out string? pathAndQuery))
        {
            case TargetVerdict.TooLong:
                OwnAnswer.Send(context, StatusCodes.Status414UriTooLong, "target-too-long");
                return Task.CompletedTask;
            case TargetVerdict.Malformed:
                OwnAnswer.Send(context, StatusCodes.Status400BadRequest, "malformed-target");
                return Task.CompletedTask;
            default:
                context.Features.Set(new CheckedTarget(pathAndQuery));
                return next(context);
        }
    }
}
