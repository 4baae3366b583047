using System.IO.Pipelines;
using System.Runtime.CompilerServices;
using Microsoft.AspNetCore.Http;

namespace IoUringCache.Transport.ZeroCopy;

/// <summary>
/// Flushes of chunks that the application frames. Kestrel counts no bytes of them, so they go past it to the
/// connection's writer: no lock of Kestrel's, and none of its state, which is cold where there are many connections.
/// Application's thread; owned by the response's writer.
/// </summary>
/// <remarks>
/// Bytes stay in order, because nothing goes past while a flush of this response is under way: Kestrel may hold the
/// bytes of one that waits. After the response Kestrel must refuse what is written, so nothing goes past it either.
/// </remarks>
internal sealed class ChunkFlushes
{
    private readonly IZeroCopyFeature _connection;

    /// <summary>Flushes of the response that have begun and not ended.</summary>
    private int _underWay;

    private bool _hasEnded;

    internal ChunkFlushes(IZeroCopyFeature connection, HttpResponse response)
    {
        _connection = connection;
        response.OnCompleted(
            static flushes =>
            {
                Volatile.Write(ref ((ChunkFlushes)flushes)._hasEnded, true);
                return Task.CompletedTask;
            },
            this);
    }

    /// <inheritdoc cref="IZeroCopyFeature.TryFlush"/>
    internal bool TryFlush(in ZeroCopySource source, out FlushResult result, out bool mustWait)
    {
        result = default;
        mustWait = false;
        return !Volatile.Read(ref _hasEnded)
            && Volatile.Read(ref _underWay) == 0
            && _connection.TryFlush(source, out result, out mustWait);
    }

    /// <summary>Has later flushes keep behind this one until it has ended.</summary>
    internal ValueTask<FlushResult> Track(ValueTask<FlushResult> flush) => flush.IsCompleted ? flush : TrackAsync(flush);

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<FlushResult> TrackAsync(ValueTask<FlushResult> flush)
    {
        Interlocked.Increment(ref _underWay);
        try
        {
            return await flush;
        }
        finally
        {
            Interlocked.Decrement(ref _underWay);
        }
    }
}
