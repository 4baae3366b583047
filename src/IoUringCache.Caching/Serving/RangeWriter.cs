using System.Security.Cryptography;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Load;
using IoUringCache.Caching.Origins;
using IoUringCache.Caching.Storage;
using IoUringCache.Caching.Telemetry;
using IoUringCache.Transport;
using IoUringCache.Transport.ZeroCopy;
using Microsoft.Net.Http.Headers;

namespace IoUringCache.Caching.Serving;

/// <summary>
/// Sends ranges of a body: one as it is, several as <c>multipart/byteranges</c> (RFC 9110 15.3.7). Their length is always known, so
/// there is a Content-Length and never a frame of our own. Ends as <see cref="ResponseWriter"/> does. Any thread; one per service.
/// </summary>
internal sealed class RangeWriter(ResponseWriter writer, CacheMetrics metrics, ReaderRateMonitor rates)
{
    private const int BoundaryLength = 32;

    /// <summary>Makes a 206 of the head of a 200 that was written. Returns what goes around the ranges if they are several.</summary>
    /// <param name="response">Not started.</param>
    /// <param name="ranges">One or more.</param>
    /// <param name="completeLength">Of the whole body; known if there are several ranges.</param>
    public static MultipartRanges? WriteHead(HttpResponse response, ByteRange[] ranges, long? completeLength)
    {
        response.StatusCode = StatusCodes.Status206PartialContent;

        // Of the bytes of the 200, and not of those that go out (RFC 9530 2).
        response.Headers.Remove(HeaderNames.ContentMD5);
        response.Headers.Remove("Content-Digest");
        if (ranges is [ByteRange single])
        {
            response.Headers.ContentRange = single.ToContentRange(completeLength);
            response.ContentLength = single.Length;
            return null;
        }

        // Nobody who makes a body can know it, so the body cannot hold it.
        string boundary = RandomNumberGenerator.GetHexString(BoundaryLength, lowercase: true);
        MultipartRanges envelope = new(ranges, completeLength!.Value, response.Headers.ContentType.ToString(), boundary);
        response.Headers.ContentType = envelope.ContentType;
        response.ContentLength = envelope.ContentLength;
        return envelope;
    }

    /// <summary>Sends the ranges, in ascending order unless the body is whole, and follows the fill where they are not there yet.</summary>
    /// <exception cref="BrokenBodyException">The rest will never come. The client has been cut, as by any other exception.</exception>
    public Task SendBodyAsync(HttpContext context, ObjectReader reader, ByteRange[] ranges, MultipartRanges? envelope)
    {
        reader.TrySkipTo(ranges[0].First);
        return SendAsync(context, reader, ranges, envelope, (range, output) => SendAsync(context, reader, range.First, range.Length, output));
    }

    /// <summary>The same of a body in slices, of which the one with the first byte is open.</summary>
    /// <exception cref="OriginException">A slice cannot be had. The client has been cut.</exception>
    public Task SendBodyAsync(HttpContext context, SliceCursor slices, ByteRange[] ranges, MultipartRanges? envelope)
    {
        slices.Reader.TrySkipTo(ranges[0].First - slices.Range.First);
        return SendAsync(context, slices.Reader, ranges, envelope, async (range, output) =>
        {
            for (long position = range.First; position <= range.Last; position = slices.Range.Last + 1)
            {
                await slices.MoveToAsync(position);
                long count = Math.Min(range.Last, slices.Range.Last) - position + 1;
                await SendAsync(context, slices.Reader, position - slices.Range.First, count, output);
            }
        });
    }

    private async Task SendAsync(
        HttpContext context, ObjectReader first, ByteRange[] ranges, MultipartRanges? envelope, Func<ByteRange, ZeroCopyWriter, Task> sendAsync)
    {
        try
        {
            ZeroCopyWriter output = await writer.StartAsync(context, first);
            for (int index = 0; index < ranges.Length; index++)
            {
                if (envelope is not null)
                {
                    output.Write(envelope.HeadOf(index));
                    metrics.SentToClient(context, envelope.HeadOf(index).Length);
                }

                await sendAsync(ranges[index], output);
            }

            if (envelope is not null)
            {
                await rates.WatchAsync(context, output.WriteAsync(envelope.End, context.RequestAborted), flushedBytes: 0);
                metrics.SentToClient(context, envelope.End.Length);
            }
        }
        catch
        {
            context.Abort();
            throw;
        }
    }

    /// <summary>Passes what is not wanted as it comes, so that a fill which its readers pace goes on; then sends.</summary>
    private async Task SendAsync(HttpContext context, ObjectReader reader, long position, long count, ZeroCopyWriter output)
    {
        IConnectionSchedulerFeature scheduler = context.Features.GetScheduler();
        while (!reader.TrySkipTo(position) && await reader.WaitToReadAsync(scheduler, context.RequestAborted))
        {
        }

        await writer.CopyAsync(context, reader, isFramed: false, output, count);
    }
}
