using IoUringCache.Caching.Filling;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Origins;
using IoUringCache.Caching.Storage;
using IoUringCache.Caching.Telemetry;

namespace IoUringCache.Caching.Serving;

/// <summary>
/// What one client gets of an object that is shared: all of it, ranges of it, or word that it has it already (RFC 9110 13.2.2, RFC 9111
/// 4.3.2). It makes no difference whether the object is stored or still being received, except for ranges that depend on a length which
/// nobody knows yet (<see cref="RangeHold"/>). Any thread; one per service.
/// </summary>
internal sealed class Delivery(ResponseWriter writer, RangeWriter ranges, RangeHold hold, SliceSource slices, CacheStatus status, OwnAnswer answers, CacheMetrics metrics)
{
    /// <summary>Answers a GET or HEAD.</summary>
    /// <param name="head">What this client may have of the head.</param>
    /// <param name="reader">At the start of the body.</param>
    /// <param name="tellsAge">Whether we tell the age; otherwise only the origin does.</param>
    /// <param name="fetch">Brings it; <see langword="null"/> if it was stored.</param>
    /// <returns>As it was found, or as the slice with the first byte was.</returns>
    /// <exception cref="OriginException">That slice cannot be had; nothing has been sent.</exception>
    public ValueTask<RequestOutcome> SendAsync(
        HttpContext context, ObjectAddress address, ResponseHead head, ObjectReader reader, FoundObject found, bool tellsAge, FillReader? fetch = null)
    {
        IHeaderDictionary request = context.Request.Headers;
        bool isPlain = request.IfNoneMatch.Count == 0 && request.IfModifiedSince.Count == 0 && request.Range.Count == 0;
        CachedObject shared = reader.Object;
        if (shared.Slices is { } mark)
        {
            return SendSlicesAsync(context, address, head, reader, found, tellsAge, mark, fetch);
        }

        Count(found);
        if (isPlain || head.StatusCode != StatusCodes.Status200OK)
        {
            return SendWholeAsync(context, head, reader, found, tellsAge);
        }

        if (shared.Validators.IsUnchangedFor(request))
        {
            writer.WriteNotModified(context, head, found.CacheStatus, tellsAge ? shared.Age : null);
            return new(found.Outcome);
        }

        return HttpMethods.IsGet(context.Request.Method)
            && shared.Validators.AllowRange(request)
            && RangeField.Parse(request.Range) is { } specs
            ? SendRangesAsync(context, head, reader, found, tellsAge, specs)
            : SendWholeAsync(context, head, reader, found, tellsAge);
    }

    private ValueTask<RequestOutcome> SendWholeAsync(HttpContext context, ResponseHead head, ObjectReader reader, FoundObject found, bool tellsAge)
    {
        CachedObject shared = reader.Object;
        writer.WriteHead(context, head, found.CacheStatus, tellsAge ? shared.Age : null);
        if (!OwnFraming.Suits(context, shared.Body))
        {
            // What the origin said, as far as the status allows it, is there already.
            context.Response.ContentLength ??= shared.Body.End == BodyEnd.Complete ? shared.Body.Length : null;
        }

        return HttpMethods.IsHead(context.Request.Method) ? new(found.Outcome) : CountAsync(writer.SendBodyAsync(context, reader), found.Outcome);
    }

    private async ValueTask<RequestOutcome> SendRangesAsync(
        HttpContext context, ResponseHead head, ObjectReader reader, FoundObject found, bool tellsAge, RangeSpec[] specs)
    {
        CachedObject shared = reader.Object;
        await hold.WaitAsync(context, shared, specs);
        long? length = shared.KnownLength;
        if (length is null && shared.Body.End == BodyEnd.Broken)
        {
            answers.Send(context, StatusCodes.Status502BadGateway, "origin-body-broken");
            return RequestOutcome.Own;
        }

        switch (Select(shared.Body, specs, length))
        {
            case null:
                return await SendWholeAsync(context, head, reader, found, tellsAge);
            case []:
                answers.RangeNotSatisfiable(context, length!.Value, found.CacheStatus);
                return found.Outcome;
            case var selected:
                writer.WriteHead(context, head, found.CacheStatus, tellsAge ? shared.Age : null);
                MultipartRanges? envelope = RangeWriter.WriteHead(context.Response, selected, length);
                return await CountAsync(ranges.SendBodyAsync(context, reader, selected, envelope), found.Outcome);
        }
    }

    private async ValueTask<RequestOutcome> SendSlicesAsync(
        HttpContext context,
        ObjectAddress address,
        ResponseHead head,
        ObjectReader reader,
        FoundObject found,
        bool tellsAge,
        SliceMark mark,
        FillReader? fetchOfFirst)
    {
        IHeaderDictionary request = context.Request.Headers;
        CachedObject shared = reader.Object;
        TimeSpan? age = tellsAge ? shared.Age : null;
        if (shared.Validators.IsUnchangedFor(request))
        {
            Count(found);
            writer.WriteNotModified(context, head, found.CacheStatus, age);
            return found.Outcome;
        }

        bool isGet = HttpMethods.IsGet(context.Request.Method);
        ByteRange[]? selected = isGet && shared.Validators.AllowRange(request) && RangeField.Parse(request.Range) is { } specs
            ? RangeField.Select(specs, mark.Length)
            : null;
        if (selected is [])
        {
            Count(found);
            answers.RangeNotSatisfiable(context, mark.Length, found.CacheStatus);
            return found.Outcome;
        }

        ByteRange[] wanted = selected ?? [new(0, mark.Length - 1)];
        Array.Sort(wanted, static (one, other) => one.First.CompareTo(other.First));
        using SliceCursor cursor = new(slices, context, address, reader, fetchOfFirst, mark);

        // Before the head: what cannot be had is an error yet, and no cut.
        await cursor.MoveToAsync(isGet ? wanted[0].First : 0);
        if (found.WasStored && cursor.Fetch is { } fetch)
        {
            found = new(fetch.IsLeader ? RequestOutcome.Miss : RequestOutcome.Join, status.Partial(!fetch.IsLeader));
            metrics.Found(found.Outcome);
        }
        else
        {
            Count(found);
        }

        writer.WriteHead(context, head, found.CacheStatus, age);
        context.Response.ContentLength = mark.Length;
        if (!isGet)
        {
            return found.Outcome;
        }

        MultipartRanges? envelope = selected is null ? null : RangeWriter.WriteHead(context.Response, wanted, mark.Length);
        return await CountAsync(ranges.SendBodyAsync(context, cursor, wanted, envelope), found.Outcome);
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

    /// <summary>What was not stored was counted as the request joined its fill.</summary>
    private void Count(FoundObject found)
    {
        if (found.WasStored)
        {
            metrics.Found(found.Outcome);
        }
    }

    /// <summary>Counts a reader as long as its body is sent.</summary>
    private async ValueTask<RequestOutcome> CountAsync(Task sending, RequestOutcome outcome)
    {
        metrics.ReaderStarted();
        try
        {
            await sending;
        }
        catch (Exception failure) when (failure is BrokenBodyException or OriginException)
        {
            // The fill has said so, once for all its readers, and the client has been cut.
        }
        finally
        {
            metrics.ReaderEnded();
        }

        return outcome;
    }
}

/// <summary>How a request came by an object: one finding for the counters, the durations, the access log and Cache-Status. Immutable.</summary>
/// <param name="Outcome">If the answer ends well.</param>
internal readonly record struct FoundObject(RequestOutcome Outcome, string CacheStatus)
{
    public bool WasStored => Outcome is RequestOutcome.Hit or RequestOutcome.Stale;
}
