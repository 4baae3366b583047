using IoUringCache.Transport.Internal.Loops;

namespace IoUringCache.Transport.Internal.Connections;

/// <summary>
/// The name of a connection and the signals of its end: <see cref="ConnectionClosed"/>, cancelled when receiving has ended, and
/// <see cref="Ended"/>, done when that has happened and the descriptor is closed. Callbacks and continuations run where all application code
/// of the connection runs. Any thread; owned by the connection's context.
/// </summary>
internal sealed class ConnectionLifetime(EventLoop loop) : LoopWorkItem, IDisposable
{
    private readonly CancellationTokenSource _connectionClosed = new();
    private readonly TaskCompletionSource _ended = new();
    private string? _connectionId;
    private bool _hasFired;

    /// <summary>The token that was fired and the descriptor that was closed: both must have happened.</summary>
    private int _pendingEnds = 2;

    internal CancellationToken ConnectionClosed => _connectionClosed.Token;

    internal Task Ended => _ended.Task;

    /// <summary>Made when somebody asks, which most connections' ends never see.</summary>
    internal string ConnectionId
    {
        get => _connectionId ??= ConnectionIdGenerator.Next();
        set => _connectionId = value;
    }

    /// <summary>
    /// Receiving has ended. The callbacks come after all that the loop has scheduled by now: the application hears of its last data, and how
    /// they ended, before it hears that the connection is over. Called once.
    /// </summary>
    internal void FireConnectionClosed() => loop.Schedule(this);

    /// <summary>The descriptor is closed. Called once.</summary>
    internal void OnDescriptorClosed()
    {
        // With the callbacks still to come, or on their way, it is they who end it.
        if (Interlocked.Decrement(ref _pendingEnds) == 0)
        {
            loop.Schedule(this);
        }
    }

    /// <summary>First the callbacks, and then, now or in a call of its own, the end.</summary>
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
                // A callback of the application failed. It was the application's to handle; the connection's end must not hang on it.
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
