using IoUringCache.Caching.Http;
using IoUringCache.Caching.Storage;
using IoUringCache.Caching.Telemetry;

namespace IoUringCache.Caching.Serving;

/// <summary>
/// What one client gets of an object that is shared: all of it, ranges of it, or word that it has it already (RFC 9110 13.2.2, RFC 9111
/// 4.3.2). It makes no difference whether the object is stored or still being received, except for ranges that depend on a length which
/// nobody knows yet (<see cref="RangeHold"/>). Any thread; one per service.
/// </summary>
internal sealed class Delivery(ResponseWriter writer, RangeWriter ranges, RangeHold hold, OwnAnswer answers, CacheMetrics metrics)
{
    /// <summary>Answers a GET or HEAD.</summary>
    /// <param name="context">Whom.</param>
    /// <param name="head">What this client may have of the head.</param>
    /// <param name="reader">At the start of the body.</param>
    /// <param name="cacheStatus">How the object was found.</param>
    /// <param name="tellsAge">Whether we tell the age; otherwise only the origin does.</param>
    public Task SendAsync(HttpContext context, ResponseHead head, ObjectReader reader, string cacheStatus, bool tellsAge)
    {
        IHeaderDictionary request = context.Request.Headers;
        bool isPlain = request.IfNoneMatch.Count == 0 && request.IfModifiedSince.Count == 0 && request.Range.Count == 0;
        CachedObject shared = reader.Object;
        if (isPlain || head.StatusCode != StatusCodes.Status200OK)
        {
            return SendWholeAsync(context, head, reader, cacheStatus, tellsAge);
        }

        if (shared.Validators.IsUnchangedFor(request))
        {
            writer.WriteNotModified(context, head, cacheStatus, tellsAge ? shared.Age : null);
            return Task.CompletedTask;
        }

        return HttpMethods.IsGet(context.Request.Method)
            && shared.Validators.AllowRange(request)
            && RangeField.Parse(request.Range) is { } specs
            ? SendRangesAsync(context, head, reader, cacheStatus, tellsAge, specs)
            : SendWholeAsync(context, head, reader, cacheStatus, tellsAge);
    }

    private Task SendWholeAsync(HttpContext context, ResponseHead head, ObjectReader reader, string cacheStatus, bool tellsAge)
    {
        CachedObject shared = reader.Object;
        writer.WriteHead(context, head, cacheStatus, tellsAge ? shared.Age : null);
        if (!OwnFraming.Suits(context, shared.Body))
        {
            // What the origin said, as far as the status allows it, is there already.
            context.Response.ContentLength ??= shared.Body.End == BodyEnd.Complete ? shared.Body.Length : null;
        }

        return HttpMethods.IsHead(context.Request.Method) ? Task.CompletedTask : SendBodyAsync(context, reader);
    }

    private async Task SendRangesAsync(
        HttpContext context, ResponseHead head, ObjectReader reader, string cacheStatus, bool tellsAge, RangeSpec[] specs)
    {
        CachedObject shared = reader.Object;
        await hold.WaitAsync(context, shared, specs);
        long? length = shared.KnownLength;
        if (length is null && shared.Body.End == BodyEnd.Broken)
        {
            answers.Send(context, StatusCodes.Status502BadGateway, "origin-body-broken");
            return;
        }

        switch (Select(shared.Body, specs, length))
        {
            case null:
                await SendWholeAsync(context, head, reader, cacheStatus, tellsAge);
                break;
            case []:
                answers.RangeNotSatisfiable(context, length!.Value, cacheStatus);
                break;
            case var selected:
                writer.WriteHead(context, head, cacheStatus, tellsAge ? shared.Age : null);
                MultipartRanges? envelope = RangeWriter.WriteHead(context.Response, selected, length);
                await SendBodyAsync(context, reader, selected, envelope);
                break;
        }
    }

    /// <summary>
    /// The bytes to send, as <see cref="RangeField.Select"/> has them. Without a length only one range with both ends can be named, and
    /// only when all of it has come.
    /// </summary>
    private static ByteRange[]? Select(ObjectBody body, RangeSpec[] specs, long? length)
    {
        if (length is null)
        {
            return specs is [{ First: { } first, Last: { } last }] && last < body.Length ? [new(first, last)] : null;
        }

        ByteRange[]? selected = RangeField.Select(specs, length.Value);
        if (selected is not null && !body.IsWhole)
        {
            // The order of the request is for who can go back (RFC 9110 15.3.7.2 asks for it, and lets no client rely on it).
            Array.Sort(selected, static (one, other) => one.First.CompareTo(other.First));
        }

        return selected;
    }

    private async Task SendBodyAsync(
        HttpContext context, ObjectReader reader, ByteRange[]? selected = null, MultipartRanges? envelope = null)
    {
        metrics.ReaderStarted();
        try
        {
            await (selected is null ? writer.SendBodyAsync(context, reader) : ranges.SendBodyAsync(context, reader, selected, envelope));
        }
        catch (BrokenBodyException)
        {
            // The fill has said so, once for all its readers, and the client has been cut.
        }
        finally
        {
            metrics.ReaderEnded();
        }
    }
}
