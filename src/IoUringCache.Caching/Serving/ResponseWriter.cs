using System.Globalization;
using System.IO.Pipelines;
using System.Runtime.CompilerServices;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Load;
using IoUringCache.Caching.Options;
using IoUringCache.Caching.Origins;
using IoUringCache.Caching.Storage;
using IoUringCache.Caching.Telemetry;
using IoUringCache.Transport;
using IoUringCache.Transport.ZeroCopy;

namespace IoUringCache.Caching.Serving;

/// <summary>
/// Writes heads and bodies to clients. Whoever calls it sees three ends: normal, <see cref="OperationCanceledException"/> when the
/// client has gone, and anything else, after which the client must be cut. Any thread; one per service.
/// </summary>
internal sealed class ResponseWriter(CacheMetrics metrics, LiveOptions options, Proxy proxy, ReaderRateMonitor rates)
{
    /// <summary>
    /// After so many bytes they are sent, and the others go on: those who are live wait for what a turn of some newcomers takes, 20 us each,
    /// and not for all that they have missed.
    /// </summary>
    private const int TurnBytes = 64 * 1024;

    /// <summary>The same for a complete body that is lent: it has nobody live and fills no buffer, and large sends cost less.</summary>
    private const int LentTurnBytes = BodyMemory.LargestFile;

    /// <summary>Bytes: what a connection's buffers have room for, so that its flush hardly ever waits.</summary>
    private const int ShortBody = 16 * 1024;

    private readonly ConditionalWeakTable<IConnectionSchedulerFeature, CatchUpQueue> _catchingUp = [];

    /// <summary>Copies an origin's head and appends to <c>Cache-Status</c> (each cache appends itself, RFC 9211 2).</summary>
    public void WriteHead(HttpContext context, ResponseHead head, string cacheStatus, TimeSpan? age = null)
    {
        HttpResponse response = context.Response;
        response.StatusCode = head.StatusCode;
        foreach (HeaderField field in head.Fields)
        {
            if (!HeaderRules.IsOurOwn(field.Name) && (!HeaderRules.IsForCaches(field.Name) || IsCache(context)))
            {
                response.Headers[field.Name] = field.Values;
            }
        }

        WriteOwnFields(response, cacheStatus, age);
        response.ContentLength = head.StatusCode switch
        {
            StatusCodes.Status204NoContent => null,

            // RFC 9110 15.3.6: there is no body, whatever the origin sends.
            StatusCodes.Status205ResetContent => 0,
            _ => head.ContentLength,
        };
    }

    /// <summary>Tells a client that it has the response with this head already: the fields that a 304 wants, and no body.</summary>
    public void WriteNotModified(HttpContext context, ResponseHead head, string cacheStatus, TimeSpan? age)
    {
        HttpResponse response = context.Response;
        response.StatusCode = StatusCodes.Status304NotModified;
        foreach (HeaderField field in head.Fields)
        {
            if (HeaderRules.IsOnNotModified(field.Name, head) || (HeaderRules.IsForCaches(field.Name) && IsCache(context)))
            {
                response.Headers[field.Name] = field.Values;
            }
        }

        WriteOwnFields(response, cacheStatus, age);
    }

    /// <summary>Whether a client is a cache of ours, which has to know the tags to be purged by them.</summary>
    private bool IsCache(HttpContext context) =>
        !options.Now.ForwardTagsTo.IsEmpty && options.Now.ForwardTagsTo.Contains(PeerList.PeerOf(context.Connection));

    private void WriteOwnFields(HttpResponse response, string cacheStatus, TimeSpan? age)
    {
        if (age is { } known)
        {
            response.Headers.Age = ((long)known.TotalSeconds).ToString(CultureInfo.InvariantCulture);
        }

        response.Headers.Append(CacheStatus.FieldName, cacheStatus);
        proxy.Sign(response.Headers);
    }

    /// <summary>
    /// Sends what is there at once and every later append as it comes. Bytes of the object are immutable and pinned, so the transport may
    /// send them from where they lie, with the frames around them where <see cref="OwnFraming"/> suits. Every way out but the return
    /// has cut the client.
    /// </summary>
    public async Task SendBodyAsync(HttpContext context, ObjectReader reader)
    {
        try
        {
            if (IsShort(context.Response, reader.Object.Body) && reader.TryRead(long.MaxValue, out ReadOnlyMemory<byte> all))
            {
                // It would not be lent: it leaves with the head, and nothing need be known of the connection.
                metrics.SentToClient(context, all.Length);
                await rates.WatchAsync(context, context.Response.BodyWriter.WriteAsync(all), flushedBytes: 0);
            }
            else if (OwnFraming.Suits(context, reader.Object.Body))
            {
                context.Response.Headers.TransferEncoding = "chunked";
                ZeroCopyWriter output = await StartAsync(context, reader);
                long sent = await CopyAsync(context, reader, isFramed: true, output, long.MaxValue);
                await rates.WatchAsync(context, output.WriteAsync(ChunkFrame.Last, context.RequestAborted), sent);
            }
            else
            {
                ZeroCopyWriter output = await StartAsync(context, reader);
                await CopyAsync(context, reader, isFramed: false, output, context.Response.ContentLength ?? long.MaxValue);
            }
        }
        catch
        {
            // Nobody checks frames of our own: without this, half a body would end like a whole one, and the next response follow it.
            context.Abort();
            throw;
        }
    }

    /// <summary>Streams an origin's body to the one client that it is for, no faster than the client takes it.</summary>
    public async Task RelayBodyAsync(HttpContext context, OriginResponse response)
    {
        if (response.Head.StatusCode == StatusCodes.Status205ResetContent)
        {
            return;
        }

        CancellationToken gone = context.RequestAborted;
        ReaderRate.BeginBody(context);
        if (response.HasBytes && response.Head.ContentLength is { } length and <= ShortBody)
        {
            await RelayShortAsync(context, response, (int)length);
            return;
        }

        ZeroCopyWriter output = await context.Response.StartZeroCopyAsync(gone);
        if (!response.HasBytes)
        {
            await rates.WatchAsync(context, output.FlushAsync(gone), flushedBytes: 0);
        }

        using BodyRelay relay = new(response, output);
        for (long sent = 0; await relay.AddAsync(gone) is var count and > 0; sent += count)
        {
            metrics.ReceivedFromOrigin(count);
            await rates.WatchAsync(context, output.FlushAsync(gone), sent);
            metrics.SentToClient(context, count);
        }
    }

    /// <summary>Relays a short body by the server's own writer: it is copied in any case, and its end is known without another read.</summary>
    /// <param name="context">The client's request.</param>
    /// <param name="response">With the body, of which something has come.</param>
    /// <param name="length">Of the body, in bytes.</param>
    private async Task RelayShortAsync(HttpContext context, OriginResponse response, int length)
    {
        CancellationToken gone = context.RequestAborted;
        await context.Response.StartAsync(gone);
        PipeWriter output = context.Response.BodyWriter;
        int sent = 0;
        while (sent < length && await response.ReadAsync(output.GetMemory(length - sent), gone) is var count and > 0)
        {
            output.Advance(count);
            metrics.ReceivedFromOrigin(count);
            await rates.WatchAsync(context, output.FlushAsync(gone), sent);
            metrics.SentToClient(context, count);
            sent += count;
        }
    }

    /// <summary>Starts the response, and sends its head at once where the first byte to send has not come.</summary>
    public async Task<ZeroCopyWriter> StartAsync(HttpContext context, ObjectReader reader)
    {
        ReaderRate.BeginBody(context);
        ZeroCopyWriter output = await context.Response.StartZeroCopyAsync(context.RequestAborted);
        if (reader.IsAtLiveEnd)
        {
            // The client learns that its object exists before the first byte of it does.
            await rates.WatchAsync(context, output.FlushAsync(context.RequestAborted), flushedBytes: 0);
        }

        return output;
    }

    /// <summary>Sends what is there, then every append as it comes, a turn at a time.</summary>
    /// <param name="context">For whom.</param>
    /// <param name="reader">From where.</param>
    /// <param name="isFramed">Frames and all.</param>
    /// <param name="output">Where to.</param>
    /// <param name="left">Bytes after which it ends, whatever follows; where that is known.</param>
    /// <returns>How many bytes it was.</returns>
    public async Task<long> CopyAsync(HttpContext context, ObjectReader reader, bool isFramed, ZeroCopyWriter output, long left)
    {
        CancellationToken gone = context.RequestAborted;
        IConnectionSchedulerFeature scheduler = context.Features.GetScheduler();
        long flushed = 0;
        while (left != 0 && await reader.WaitToReadAsync(scheduler, gone))
        {
            bool hasLive = reader.Object.Body.End == BodyEnd.Growing;
            long turn = output.IsZeroCopy && !hasLive ? LentTurnBytes : TurnBytes;
            long written = 0;
            ReadOnlyMemory<byte> last = default;
            while (written < turn && (isFramed ? reader.TryReadFrames(out ReadOnlyMemory<byte> bytes) : reader.TryRead(left, out bytes)))
            {
                left -= bytes.Length;
                written += bytes.Length;
                metrics.SentToClient(context, bytes.Length);
                output.Write(last);
                last = bytes;
            }

            // The last piece with the flush: where it is the only one, as for who is live, that is one step.
            await rates.WatchAsync(context, output.WriteAsync(last, gone), flushed);
            flushed += written;
            if (written >= turn && left != 0)
            {
                IConnectionSchedulerFeature behind = hasLive ? _catchingUp.GetValue(scheduler, static on => new(on)) : scheduler;
                await reader.YieldAsync(scheduler, behind, gone);
            }
        }

        return flushed;
    }

    /// <summary>Whether all of a body is there in one piece, and is all that is to be sent.</summary>
    private static bool IsShort(HttpResponse response, ObjectBody body) =>
        body is { IsFramed: false, End: BodyEnd.Complete, Length: < ZeroCopyWriter.MinimumLength } && response.ContentLength == body.Length;
}
