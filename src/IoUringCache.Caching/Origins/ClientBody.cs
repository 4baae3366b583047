using System.IO.Pipelines;
using IoUringCache.Caching.Http1;

namespace IoUringCache.Caching.Origins;

/// <summary>
/// A client's body on its way to the origin. The server must not get its request back while somebody reads it: dispose asynchronously before
/// the handler ends. One request's.
/// </summary>
/// <param name="body">The client's.</param>
/// <param name="length">Bytes, where the client told it; else the origin gets chunks.</param>
internal sealed class ClientBody(PipeReader body, long? length) : IRequestBody, IAsyncDisposable
{
    private Task _copying = Task.CompletedTask;

    /// <inheritdoc/>
    public long? Length => length;

    /// <summary>What the client's side did wrong, if that is why the copying ended: reset, broken framing, over a limit.</summary>
    public Exception? ClientFailure { get; private set; }

    public async ValueTask DisposeAsync()
    {
        if (!_copying.IsCompleted)
        {
            // Not by a token: the server takes a read that ended by one for a read that goes on.
            body.CancelPendingRead();
        }

        await _copying.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
    }

    /// <inheritdoc/>
    public Task CopyToAsync(IBodyTarget target, IWaitClock clock) => _copying = CopyAsync(target, clock);

    private async Task CopyAsync(IBodyTarget target, IWaitClock clock)
    {
        while (true)
        {
            ReadResult read = await ReadAsync(clock);
            try
            {
                if (read.IsCanceled)
                {
                    throw new OperationCanceledException("The exchange has ended before the request's body was sent.");
                }

                clock.Restart();
                if (!await target.WriteAsync(read.Buffer) || read.IsCompleted)
                {
                    return;
                }
            }
            finally
            {
                body.AdvanceTo(read.IsCanceled ? read.Buffer.Start : read.Buffer.End);
            }
        }
    }

    private async ValueTask<ReadResult> ReadAsync(IWaitClock clock)
    {
        clock.Stop();
        try
        {
            return await body.ReadAsync();
        }
        catch (IOException failure)
        {
            // Of a chunk size over 31 bits the server tells otherwise than of all else that is wrong with a body.
            ClientFailure = failure.InnerException is OverflowException
                ? new BadHttpRequestException(failure.Message, StatusCodes.Status400BadRequest, failure)
                : failure;
            throw;
        }
    }
}
