using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Diagnostics;
using IoUringCache.Transport.Internal.Loops;
using Microsoft.AspNetCore.Connections;
using Microsoft.Extensions.Logging;

namespace IoUringCache.Transport.Internal.Connections;

/// <summary>The id, abort reason and end of a connection. Any thread; owned by the connection's context.</summary>
internal sealed class ConnectionLifetime(EventLoop loop) : LoopWorkItem, IDisposable
{
    // RFC 4648, section 7: the alphabet whose text order is the numbers' order.
    private const string Base32Hex = "0123456789ABCDEFGHIJKLMNOPQRSTUV";
    private const int IdLength = 13;
    private const int BitsPerCharacter = 5;

    private static long s_lastId = DateTime.UtcNow.Ticks;

    private readonly CancellationTokenSource _connectionClosed = new();
    private readonly TaskCompletionSource _ended = new();
    private string? _connectionId;
    private Exception? _abortReason;
    private bool _hasFired;

    /// <summary>Counts down when the token has fired and when the descriptor is closed.</summary>
    private int _pendingEnds = 2;

    internal CancellationToken ConnectionClosed => _connectionClosed.Token;

    internal Task Ended => _ended.Task;

    /// <summary>The reason of the first abort, or null before it and if that had none.</summary>
    internal Exception? AbortReason => Volatile.Read(ref _abortReason);

    /// <summary>Made on first use, once; most connections never need one.</summary>
    internal string ConnectionId
    {
        get => Volatile.Read(ref _connectionId) ?? MakeId();
        set => Volatile.Write(ref _connectionId, value);
    }

    /// <summary>The id if the logger writes connection events; otherwise empty, so that none is made.</summary>
    internal string IdFor(ILogger logger) => logger.IsEnabled(LogLevel.Debug) ? ConnectionId : "";

    /// <summary>Logs a failed operation.</summary>
    /// <returns>The exception for the application.</returns>
    internal Exception LogFailure(ILogger logger, string operation, Errno error)
    {
        if (error is Errno.ECONNRESET or Errno.EPIPE)
        {
            IoUringLog.ConnectionReset(logger, IdFor(logger));
            return new ConnectionResetException("The connection was reset by the peer.");
        }

        IOException exception = new($"{operation} failed with {error}.");
        IoUringLog.ConnectionError(logger, IdFor(logger), exception);
        return exception;
    }

    /// <summary>Sets <see cref="AbortReason"/>; the first reason counts.</summary>
    internal void SetAbortReason(Exception? reason) => Interlocked.CompareExchange(ref _abortReason, reason, null);

    /// <summary>
    /// Fires <see cref="ConnectionClosed"/> behind all scheduled work, so behind the last read. Called once.
    /// </summary>
    internal void FireConnectionClosed() => loop.Schedule(this);

    /// <summary>Called once, when the descriptor is closed.</summary>
    internal void OnDescriptorClosed()
    {
        // If the callbacks have not run yet, Execute completes the end after them.
        if (Interlocked.Decrement(ref _pendingEnds) == 0)
        {
            loop.Schedule(this);
        }
    }

    /// <summary>Runs the callbacks, then completes the end, in this call or a later one.</summary>
    public override void Execute()
    {
        if (!_hasFired)
        {
            _hasFired = true;
            try
            {
                _connectionClosed.Cancel();
            }
            catch (AggregateException)
            {
                // An application callback failed; the connection still ends.
            }

            if (Interlocked.Decrement(ref _pendingEnds) != 0)
            {
                return;
            }
        }

        _ended.SetResult();
    }

    public void Dispose() => _connectionClosed.Dispose();

    /// <summary>Sets an id that is unique in the process and unlikely to repeat after a restart, unless there is one.</summary>
    private string MakeId()
    {
        string made = string.Create(IdLength, Interlocked.Increment(ref s_lastId), static (characters, id) =>
        {
            for (int i = IdLength - 1; i >= 0; i--)
            {
                characters[i] = Base32Hex[(int)(id & 31)];
                id >>>= BitsPerCharacter;
            }
        });
        return Interlocked.CompareExchange(ref _connectionId, made, null) ?? made;
    }
}
