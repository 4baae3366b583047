using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Diagnostics;
using IoUringCache.Transport.Internal.Loops;
using Microsoft.AspNetCore.Connections;
using Microsoft.Extensions.Logging;

namespace IoUringCache.Transport.Internal.Connections;

/// <summary>
/// The id of a connection, and its end: the reason of an abort, <see cref="ConnectionClosed"/>, cancelled when receiving has ended, and
/// <see cref="Ended"/>, completed when that has happened and the descriptor is closed. Callbacks and continuations run where the
/// connection's application code runs. Any thread; owned by the connection's context.
/// </summary>
internal sealed class ConnectionLifetime(EventLoop loop) : LoopWorkItem, IDisposable
{
    private readonly CancellationTokenSource _connectionClosed = new();
    private readonly TaskCompletionSource _ended = new();
    private string? _connectionId;
    private Exception? _abortReason;
    private bool _hasFired;

    /// <summary>The token that was fired and the descriptor that was closed: both must have happened.</summary>
    private int _pendingEnds = 2;

    internal CancellationToken ConnectionClosed => _connectionClosed.Token;

    internal Task Ended => _ended.Task;

    /// <summary>Why the application aborted the connection, if it did and gave a reason.</summary>
    internal Exception? AbortReason => Volatile.Read(ref _abortReason);

    /// <summary>Made on first use; most connections end before that.</summary>
    internal string ConnectionId
    {
        get => _connectionId ??= ConnectionIdGenerator.Next();
        set => _connectionId = value;
    }

    /// <summary>The id for a log that writes connections' events; empty for any other, so that no id is made for it.</summary>
    internal string IdFor(ILogger logger) => logger.IsEnabled(LogLevel.Debug) ? ConnectionId : "";

    /// <summary>Logs an operation that failed.</summary>
    /// <returns>The exception that tells the application.</returns>
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
    /// Cancels <see cref="ConnectionClosed"/>, since receiving has ended. The callbacks run after everything that the loop has scheduled
    /// before: the application reads its last data, and how they ended, before it learns that the connection is over. Called once.
    /// </summary>
    internal void FireConnectionClosed() => loop.Schedule(this);

    /// <summary>The descriptor is closed. Called once.</summary>
    internal void OnDescriptorClosed()
    {
        // Until the callbacks have run, Execute completes the end after them.
        if (Interlocked.Decrement(ref _pendingEnds) == 0)
        {
            loop.Schedule(this);
        }
    }

    /// <summary>Runs the callbacks, and then, in the same or in a later call, completes the end.</summary>
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
                // A callback of the application failed. The connection's end must not depend on it.
            }

            if (Interlocked.Decrement(ref _pendingEnds) != 0)
            {
                return;
            }
        }

        _ended.SetResult();
    }

    public void Dispose() => _connectionClosed.Dispose();
}
