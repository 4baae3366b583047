using IoUringCache.Transport.Internal.Loops;

namespace IoUringCache.Transport.Internal.Connections;

/// <summary>
/// The name of a connection and the signals of its end: <see cref="ConnectionClosed"/>, cancelled on the thread pool when receiving has
/// ended, and <see cref="Ended"/>, done when that has happened and the descriptor is closed. Any thread; owned by the connection's context.
/// </summary>
internal sealed class ConnectionLifetime : Dispatch, IDisposable
{
    private readonly CancellationTokenSource _connectionClosed = new();
    private readonly TaskCompletionSource _ended = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private string? _connectionId;
    private bool _isOnPool;

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
    /// Receiving has ended; application callbacks run on the thread pool. They are queued when the loop has run, or handed over, what it
    /// has scheduled by now: the application hears of its last data, and how they ended, before it hears that the connection is over.
    /// Called once.
    /// </summary>
    internal void FireConnectionClosed(EventLoop loop) => loop.Schedule(this);

    /// <summary>The descriptor is closed. Called once.</summary>
    internal void OnDescriptorClosed() => CompleteOne();

    public override void Execute()
    {
        if (!_isOnPool)
        {
            _isOnPool = true;
            ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: false);
            return;
        }

        try
        {
            _connectionClosed.Cancel();
        }
        catch (AggregateException)
        {
            // A callback of the application failed. It was the application's to handle; the connection's end must not hang on it.
        }

        CompleteOne();
    }

    public void Dispose() => _connectionClosed.Dispose();

    private void CompleteOne()
    {
        if (Interlocked.Decrement(ref _pendingEnds) == 0)
        {
            _ended.SetResult();
        }
    }
}
