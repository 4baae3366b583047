using System.Buffers;
using System.Globalization;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Origins;

namespace IoUringCache.Caching.Serving;

/// <summary>
/// Answers that come from this service and not from an origin. They are never stored by anybody, and say no more than a status and a
/// word, unless the operator has a page for the status. Any thread; one per cache.
/// </summary>
internal sealed class OwnAnswer(CacheStatus status)
{
    private volatile ErrorPages _pages = ErrorPages.None;

    /// <summary>Bodies of errors, from now on.</summary>
    public ErrorPages Pages
    {
        set => _pages = value;
    }

    /// <summary>Status, word and, for an error, the operator's page if there is one.</summary>
    public void Send(HttpContext context, int statusCode, string detail)
    {
        HttpResponse response = context.Response;
        response.StatusCode = statusCode;
        response.Headers.CacheControl = "no-store";
        response.Headers[CacheStatus.FieldName] = status.Own(detail);
        byte[] page = _pages.Of(statusCode);
        response.ContentLength = page.Length;
        if (page.Length > 0)
        {
            response.ContentType = ErrorPages.MediaType;
            if (context.Request.Method != HttpMethods.Head)
            {
                response.BodyWriter.Write(page);
            }
        }
    }

    /// <summary>To an OPTIONS that is for this service itself (RFC 9110 7.6.2, 9.3.7).</summary>
    public Task Options(HttpContext context, string allowed, string detail)
    {
        Send(context, StatusCodes.Status200OK, detail);
        context.Response.Headers.Allow = allowed;
        return Task.CompletedTask;
    }

    /// <summary>For targets other than objects.</summary>
    public Task MethodNotAllowed(HttpContext context) => MethodNotAllowed(context, MethodRules.AllowedOfFiles);

    public Task MethodNotAllowed(HttpContext context, string allowed)
    {
        Send(context, StatusCodes.Status405MethodNotAllowed, "method");
        context.Response.Headers.Allow = allowed;
        return Task.CompletedTask;
    }

    public Task NotFound(HttpContext context)
    {
        Send(context, StatusCodes.Status404NotFound, "unknown-path");
        return Task.CompletedTask;
    }

    /// <summary>For a target that names no object.</summary>
    public Task NoId(HttpContext context)
    {
        Send(context, StatusCodes.Status404NotFound, "empty-id");
        return Task.CompletedTask;
    }

    /// <summary>For a path that is decoded to one of an object: caches on the way would have another key for it than we.</summary>
    public Task OtherSpelling(HttpContext context) => BadTarget(context, TargetVerdict.Malformed);

    /// <summary>For a target that is too long or malformed.</summary>
    public Task BadTarget(HttpContext context, TargetVerdict verdict)
    {
        (int statusCode, string detail) = verdict == TargetVerdict.TooLong
            ? (StatusCodes.Status414UriTooLong, "target-too-long")
            : (StatusCodes.Status400BadRequest, "malformed-target");
        Send(context, statusCode, detail);
        return Task.CompletedTask;
    }

    /// <summary>For a request whose fields hold a control character, so that the origin could refuse it or read it differently (RFC 9110 5.5).</summary>
    public void MalformedField(HttpContext context) => Send(context, StatusCodes.Status400BadRequest, "malformed-field");

    /// <summary>None of the ranges that were asked for has a byte in this body (RFC 9110 15.5.17).</summary>
    /// <param name="length">Of the body, in bytes.</param>
    /// <param name="cacheStatus">How the body was found, if the cache has a part in it.</param>
    public void RangeNotSatisfiable(HttpContext context, long length, string? cacheStatus = null)
    {
        Send(context, StatusCodes.Status416RangeNotSatisfiable, "range");
        context.Response.Headers[CacheStatus.FieldName] = cacheStatus ?? status.Own("range");
        context.Response.Headers.AcceptRanges = "bytes";
        context.Response.Headers.ContentRange = string.Create(CultureInfo.InvariantCulture, $"bytes */{length}");
    }

    /// <summary>A cap was reached; the client may come back in a second.</summary>
    public void Overloaded(HttpContext context, string detail) => Failed(context, OriginException.Overloaded(detail));

    /// <summary>There is no usable response.</summary>
    public void Failed(HttpContext context, OriginException failure)
    {
        Send(context, failure.StatusCode, failure.Detail);
        if (failure.RetryAfter is { } wait)
        {
            context.Response.Headers.RetryAfter = Math.Ceiling(wait.TotalSeconds).ToString(CultureInfo.InvariantCulture);
        }
    }
}
