using System.IO.Pipelines;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Serving;
using IoUringCache.Caching.Telemetry;
using IoUringCache.Transport.ZeroCopy;

namespace IoUringCache.Caching.Files;

/// <summary>
/// Sends ranges of a file: from the page cache to the socket where nothing stands between, else through memory (docs/design/zero-copy.md). Never more of an
/// open file than a piece is in the process's hands, so its length does not matter. Any thread; one per service.
/// </summary>
internal sealed class FileWriter(CacheMetrics metrics, ReaderRateMonitor rates)
{
    /// <summary>After so many bytes they are counted, and a client that has gone is noticed.</summary>
    private const long PieceBytes = 1024 * 1024;

    /// <summary>The same where it is copied, which goes on in no larger steps.</summary>
    private const long CopiedPieceBytes = 64 * 1024;

    /// <summary>Sends the body of a response whose length is set. Ends early, and cuts the client, if that has gone.</summary>
    /// <param name="context">For whom; its head is written.</param>
    /// <param name="ranges">One or more of its ranges, or all of it as one.</param>
    /// <param name="envelope">What goes around them if they are several.</param>
    /// <exception cref="EndOfStreamException">The file has become shorter. Not all that was promised has been sent.</exception>
    public async Task SendAsync(HttpContext context, ServedFile file, ByteRange[] ranges, MultipartRanges? envelope)
    {
        CancellationToken gone = context.RequestAborted;
        ReaderRate.BeginBody(context);
        ZeroCopyWriter output = await context.Response.StartZeroCopyAsync(gone);
        long most = output.IsZeroCopy ? PieceBytes : CopiedPieceBytes;
        for (int index = 0; index < ranges.Length; index++)
        {
            if (envelope is not null)
            {
                output.Write(envelope.HeadOf(index));
                metrics.SentToClient(context, envelope.HeadOf(index).Length);
            }

            for (long left = ranges[index].Length; left > 0;)
            {
                long piece = Math.Min(left, most);
                ValueTask<FlushResult> sending = file.SendAsync(output, ranges[index].Last + 1 - left, piece, gone);
                FlushResult result = await rates.WatchAsync(context, sending, ranges[index].Length - left);
                if (result.IsCompleted)
                {
                    context.Abort();
                    return;
                }

                metrics.SentToClient(context, piece);
                left -= piece;
            }
        }

        if (envelope is not null)
        {
            await rates.WatchAsync(context, output.WriteAsync(envelope.End, gone), flushedBytes: 0);
            metrics.SentToClient(context, envelope.End.Length);
        }
    }
}
