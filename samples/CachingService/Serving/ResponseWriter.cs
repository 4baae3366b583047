using System.Globalization;
using System.IO.Pipelines;
using CachingService.Admin;
using CachingService.Http;
using CachingService.Origins;
using CachingService.Storage;
using IoUringCache.Transport;

namespace CachingService.Serving;

/// <summary>
/// Writes heads and bodies to clients. Whoever calls it sees three ends: normal, <see cref="OperationCanceledException"/> when the
/// client has gone, and anything else, after which the client must be cut. Any thread; one per service.
/// </summary>
internal sealed class ResponseWriter(CacheMetrics metrics, Proxy proxy)
{
    private const int RelayBufferBytes = 64 * 1024;

    /// <summary>Copies an origin's head and appends to <c>Cache-Status</c> (each cache appends itself, RFC 9211 2).</summary>
    public void WriteHead(HttpContext context, ResponseHead head, string cacheStatus, TimeSpan? age = null)
    {
        HttpResponse response = context.Response;
        response.StatusCode = head.StatusCode;
        foreach (HeaderField field in head.Fields)
        {
            response.Headers[field.Name] = field.Values;
        }

        response.ContentLength = head.StatusCode switch
        {
            StatusCodes.Status204NoContent => null,

            // RFC 9110 15.3.6: there is no body, whatever the origin sends.
            StatusCodes.Status205ResetContent => 0,
            _ => head.ContentLength,
        };

        if (age is { } known)
        {
            response.Headers.Age = ((long)known.TotalSeconds).ToString(CultureInfo.InvariantCulture);
        }

        response.Headers.Append(CacheStatus.FieldName, cacheStatus);
        proxy.Sign(response.Headers);
    }

    /// <summary>
    /// Sends what is there at once and every later append as it comes. Bytes of the object are immutable and pinned, so the transport may
    /// send them from where they lie.
    /// </summary>
    public async Task SendBodyAsync(HttpContext context, ObjectReader reader)
    {
        CancellationToken gone = context.RequestAborted;
        LendingWriter output = await context.Response.StartLendingAsync(gone);
        if (reader.Object.Body is { Length: 0, End: BodyEnd.Growing })
        {
            // The client learns that its object exists before the first byte of it does.
            await output.FlushAsync(gone);
        }

        // Once all of a known length is written the client may leave, and is not waited for.
        while (reader.Position != context.Response.ContentLength && await reader.WaitToReadAsync(gone))
        {
            while (reader.TryRead(out ReadOnlyMemory<byte> bytes))
            {
                metrics.SentToClient(bytes.Length);
                if (output.Lends)
                {
                    output.Write(bytes);
                }
                else
                {
                    await output.WriteAsync(bytes, gone);
                }
            }

            await output.FlushAsync(gone);
        }
    }

    /// <summary>Streams an origin's body to the one client that it is for, no faster than the client takes it.</summary>
    public async Task RelayBodyAsync(HttpContext context, OriginResponse response)
    {
        if (response.Head.StatusCode == StatusCodes.Status205ResetContent)
        {
            return;
        }

        PipeWriter output = context.Response.BodyWriter;
        CancellationToken gone = context.RequestAborted;
        await output.FlushAsync(gone);
        while (await response.ReadAsync(output.GetMemory(RelayBufferBytes), gone) is var count and > 0)
        {
            metrics.ReceivedFromOrigin(count);
            output.Advance(count);
            await output.FlushAsync(gone);
            metrics.SentToClient(count);
        }
    }
}
