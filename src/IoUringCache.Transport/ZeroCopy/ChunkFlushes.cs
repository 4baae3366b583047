using System.IO.Pipelines;
using System.Runtime.CompilerServices;
using Microsoft.AspNetCore.Http;

namespace IoUringCache.Transport.ZeroCopy;

/// <summary>
/// Flushes of chunks that the application frames. Kestrel counts no bytes of them, so they go past it to the
/// connection's writer: no lock of Kestrel's, and none of its state, which is cold where there are many connections.
/// Application's thread; a flush may end on another. Owned by the response's writer.
/// </summary>
/// <remarks>
/// Bytes stay in order, because a flush goes past Kestrel only if the writer's last call was a flush, and that has ended:
/// then Kestrel holds none of its bytes, as it may while a flush waits, and after that until the next one. The first
/// flush takes the head along. From <see cref="HttpResponse.OnCompleted(Func{Task})"/> on none goes past, so that
/// Kestrel refuses what is written.
/// </remarks>
internal sealed class ChunkFlushes
{
    private readonly IZeroCopyFeature _connection;

    /// <summary>Calls of the writer so far, without flushes that went past and did not wait.</summary>
    private int _calls;

    /// <summary>The number of the last call that was a flush and has ended.</summary>
    private int _flushed = -1;

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

    /// <inheritdoc cref="IZeroCopyFeature.UnsentBytes"/>
    internal long UnsentBytes => _connection.UnsentBytes;

    /// <inheritdoc cref="IZeroCopyFeature.TryFlush"/>
    internal bool TryFlush(in ZeroCopySource source, out FlushResult result, out bool mustWait)
    {
        result = default;
        mustWait = false;
        return Volatile.Read(ref _flushed) == _calls
            && !Volatile.Read(ref _hasEnded)
            && _connection.TryFlush(source, out result, out mustWait);
    }

    /// <summary>The writer was called, not for a flush.</summary>
    internal void OnCalled() => _calls++;

    /// <summary>The writer was called for a flush.</summary>
    internal ValueTask<FlushResult> OnFlush(ValueTask<FlushResult> flush)
    {
        int call = ++_calls;
        if (!flush.IsCompletedSuccessfully)
        {
            return AwaitAsync(flush, call);
        }

        Volatile.Write(ref _flushed, call);
        return flush;
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<FlushResult> AwaitAsync(ValueTask<FlushResult> flush, int call)
    {
        FlushResult result = await flush;
        Volatile.Write(ref _flushed, call);
        return result;
    }
}
