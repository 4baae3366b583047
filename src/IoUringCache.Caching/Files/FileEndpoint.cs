using System.Globalization;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Options;
using IoUringCache.Caching.Origins;
using IoUringCache.Caching.Serving;
using IoUringCache.Caching.Telemetry;
using IoUringCache.Ring;
using Microsoft.Net.Http.Headers;

namespace IoUringCache.Caching.Files;

/// <summary>
/// <c>/object/{**id}</c> where the origin is a directory. This service is the origin then, and no cache of its own has a part in it: so there
/// are preconditions and no <c>Age</c>, <c>Via</c> or <c>Cache-Status</c> on a file. Any thread; one per service.
/// </summary>
internal sealed class FileEndpoint(
    FileLookup lookup, FileWriter writer, OwnAnswer answers, CacheMetrics metrics, LiveOptions options, ILogger<FileEndpoint> log)
{
    private volatile LifetimeField _lifetime = new(TimeSpan.Zero);

    /// <summary><see langword="null"/> where nothing is said of the lifetime of files.</summary>
    private string? CacheControlOf(ObjectAddress address)
    {
        FreshnessPolicy freshness = address.Policy.Freshness;
        TimeSpan lifetime = freshness.ForcedTtl ?? freshness.DefaultTtl;
        LifetimeField known = _lifetime;
        return (known.Lifetime == lifetime ? known : _lifetime = new(lifetime)).Text;
    }

    public async Task HandleAsync(HttpContext context, ObjectAddress address)
    {
        string key = address.Target;
        try
        {
            if (!HttpMethods.IsGet(context.Request.Method) && context.Request.Method != HttpMethods.Head)
            {
                await answers.MethodNotAllowed(context);
            }
            else
            {
                metrics.FileAsked();
                await AnswerAsync(context, address);
            }
        }
        catch (OperationCanceledException) when (context.RequestAborted.IsCancellationRequested)
        {
            // The client has gone. Nobody is left to tell.
        }
        catch (EndOfStreamException) when (context.Response.HasStarted)
        {
            CacheLog.FileShrunk(log, key);
            metrics.ReadersCut(CutReason.File, 1);
            context.Abort();
        }
        catch (Exception) when (context.Response.HasStarted)
        {
            // A clean end here would make half a body look whole. The server logs the exception.
            context.Abort();
            throw;
        }
    }

    private async Task AnswerAsync(HttpContext context, ObjectAddress address)
    {
        string key = address.Target;
        ReaderRate.Apply(context, address, options.Now.Routes);

        if (!FileName.TryDecode(key, out string? name))
        {
            Refuse(context, key, Errno.ENOENT);
            return;
        }

        (Errno error, ServedFile? file) = await lookup.FindAsync(name, context.Request.Headers.AcceptEncoding);
        if (error != Errno.None)
        {
            Refuse(context, key, error);
            return;
        }

        context.Response.Headers.Vary = HeaderNames.AcceptEncoding;
        if (file is null)
        {
            answers.Send(context, StatusCodes.Status406NotAcceptable, "accept-encoding");
            return;
        }

        using (file)
        {
            await SendAsync(context, address, file);
        }
    }

    private void Refuse(HttpContext context, string key, Errno error)
    {
        (int statusCode, string detail) = OpenFailure.AnswerTo(error);
        if (statusCode == StatusCodes.Status503ServiceUnavailable)
        {
            metrics.Refused(detail);
            answers.Overloaded(context, detail);
            return;
        }

        if (statusCode != StatusCodes.Status404NotFound)
        {
            CacheLog.FileCannotBeOpened(log, key, error);
        }

        answers.Send(context, statusCode, detail);
    }

    /// <summary>Conditions first, then ranges (RFC 9110 13.2.2), of the form that was chosen.</summary>
    private Task SendAsync(HttpContext context, ObjectAddress address, ServedFile file)
    {
        IHeaderDictionary request = context.Request.Headers;
        FileHead head = file.Head;
        Validators validators = head.Validators;
        if (validators.AreRefusedBy(request))
        {
            answers.Send(context, StatusCodes.Status412PreconditionFailed, "precondition");
            return Task.CompletedTask;
        }

        HttpResponse response = context.Response;
        if (validators.IsUnchangedFor(request))
        {
            response.StatusCode = StatusCodes.Status304NotModified;
            Identify(response, head, address);
            return Task.CompletedTask;
        }

        bool isGet = HttpMethods.IsGet(context.Request.Method);
        ByteRange[]? selected = isGet && request.Range.Count > 0 && validators.AllowRange(request) && RangeField.Parse(request.Range) is { } specs
            ? RangeField.Select(specs, head.Length)
            : null;
        if (selected is [])
        {
            answers.RangeNotSatisfiable(context, head.Length);
            return Task.CompletedTask;
        }

        Identify(response, head, address);
        DescribeBody(response, head);
        response.ContentLength = head.Length;
        MultipartRanges? envelope = selected is null ? null : RangeWriter.WriteHead(response, selected, head.Length);
        return isGet ? SendBodyAsync(context, file, selected ?? [new(0, head.Length - 1)], envelope) : Task.CompletedTask;
    }

    private void Identify(HttpResponse response, FileHead head, ObjectAddress address)
    {
        response.Headers.ETag = head.ETag;
        response.Headers.CacheControl = CacheControlOf(address);
    }

    private static void DescribeBody(HttpResponse response, FileHead head)
    {
        response.Headers.LastModified = head.LastModified;
        response.Headers.AcceptRanges = "bytes";
        response.Headers.ContentType = head.ContentType;
        response.Headers.ContentEncoding = head.ContentEncoding;
    }

    private async Task SendBodyAsync(HttpContext context, ServedFile file, ByteRange[] ranges, MultipartRanges? envelope)
    {
        metrics.ReaderStarted();
        try
        {
            await writer.SendAsync(context, file, ranges, envelope);
        }
        finally
        {
            metrics.ReaderEnded();
        }
    }

    /// <summary>A lifetime, and the field that says it.</summary>
    private sealed record LifetimeField(TimeSpan Lifetime)
    {
        public string? Text { get; } = Lifetime >= TimeSpan.FromSeconds(1)
            ? string.Create(CultureInfo.InvariantCulture, $"max-age={(long)Lifetime.TotalSeconds}")
            : null;
    }
}

/// <summary>What an error of opening a file means to a client. Any thread.</summary>
internal static class OpenFailure
{
    /// <summary>
    /// Status and word of the answer. All that is not there to be served is alike for a client: what is missing, what is no regular file, what
    /// lies outside. What is there and may not be read by this process is 403, so that the operator finds the mistake.
    /// </summary>
    public static (int StatusCode, string Detail) AnswerTo(Errno error) => error switch
    {
        Errno.ENOENT or Errno.ENOTDIR or Errno.ENAMETOOLONG or Errno.ELOOP or Errno.EXDEV or Errno.ENXIO or Errno.ENODEV =>
            (StatusCodes.Status404NotFound, "no-such-file"),
        Errno.EACCES or Errno.EPERM => (StatusCodes.Status403Forbidden, "file-not-readable"),

        // EAGAIN: directories are renamed faster than a name can be resolved, or another process holds a lease on the file.
        Errno.EMFILE or Errno.ENFILE or Errno.ENOMEM or Errno.EAGAIN => (StatusCodes.Status503ServiceUnavailable, "cannot-open-now"),
        _ => (StatusCodes.Status500InternalServerError, "file-error"),
    };
}
