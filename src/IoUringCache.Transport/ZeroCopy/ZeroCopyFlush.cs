using System.IO.Pipelines;
using System.Runtime.CompilerServices;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Transport.ZeroCopy;

/// <summary>
/// A flush of zero-copy bytes. It passes through Kestrel without a wait, and waits for space beside Kestrel: a flush of
/// Kestrel's that waits continues on the thread pool, and not at all while that is used up, while this wait continues
/// where handlers run. README.md in this folder says what that relies on, and why there is no simpler way.
/// Application's thread.
/// </summary>
internal static class ZeroCopyFlush
{
    /// <summary>Flushes, and waits until there is space.</summary>
    /// <param name="connection">The connection under the writer.</param>
    /// <param name="writer">A writer that passes calls through to the connection's own.</param>
    /// <param name="cancellationToken">Ends the wait, and with it the response.</param>
    /// <returns>What the flush returns. Await it once, and before the response ends.</returns>
    internal static ValueTask<FlushResult> FlushAsync(IZeroCopyFeature connection, PipeWriter writer, CancellationToken cancellationToken)
    {
        ValueTask<FlushResult> flush;
        connection.SkipWait(true);
        try
        {
            flush = writer.FlushAsync(cancellationToken);
        }
        finally
        {
            connection.SkipWait(false);
        }

        return connection.HasSkippedWait && flush.IsCompletedSuccessfully
            ? AwaitSpaceAsync(flush, connection, writer, cancellationToken)
            : flush;
    }

    /// <summary>Waits until there is space, after a flush that has ended.</summary>
    /// <inheritdoc cref="FlushAsync"/>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    internal static async ValueTask<FlushResult> AwaitSpaceAsync(
        ValueTask<FlushResult> flush, IZeroCopyFeature connection, PipeWriter writer, CancellationToken cancellationToken)
    {
        FlushResult result = await flush;
        if (connection.TryBeginWait(cancellationToken, out ValueTask<bool> wait))
        {
            bool hasSpace = await wait;
            connection.EndWait();
            if (hasSpace)
            {
                return result;
            }
        }

        if (cancellationToken.IsCancellationRequested)
        {
            // Kestrel does the same when the token ends a flush of its own, but not when the flush begins after that.
            connection.Abort(new ConnectionAbortedException("A flush of the response was cancelled, so that the rest of it will not be sent."));
            throw new OperationCanceledException(cancellationToken);
        }

        // The wait ended for another reason than space: Kestrel's own flush finds it, reports it, or waits under the
        // minimum data rate.
        return await writer.FlushAsync(cancellationToken);
    }
}
