using System.Diagnostics.CodeAnalysis;
using IoUringCache.Transport.Internal.Loops;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Transport.Internal.Listening;

/// <summary>
/// Connections that were accepted and that Kestrel has not taken yet. The loop that accepts adds; Kestrel's accept loop
/// takes, and continues where application code runs, so that with inline scheduling no other thread is woken. The limit
/// pauses accepting; a connection that the kernel has accepted is never dropped. Owned by its listener.
/// <para>
/// No arrival is lost. Under the lock a taker finds a connection, or the end, or leaves <see cref="_arrival"/> behind;
/// an addition or the end sees that under the lock, and schedules this unless it is scheduled already.
/// <see cref="Execute"/> removes the wait under the lock, so a later addition finds the next one.
/// </para>
/// </summary>
internal sealed class AcceptQueue(int fullAt, EventLoop loop) : LoopWorkItem
{
    private readonly Lock _lock = new();
    private readonly Queue<ConnectionContext> _connections = new();

    /// <summary>What takers wait for; null if none waits.</summary>
    private TaskCompletionSource? _arrival;

    /// <summary>Whether this is scheduled and has not removed the wait yet.</summary>
    private bool _isScheduled;

    private bool _isClosed;
    private Exception? _failure;

    /// <summary>
    /// Called when half of the limit is free again; any thread. Set before the first connection is added.
    /// </summary>
    internal Action? CapacityAvailable { get; set; }

    internal bool IsFull
    {
        get
        {
            lock (_lock)
            {
                return _connections.Count >= fullAt;
            }
        }
    }

    /// <summary>
    /// Adds a connection; not after <see cref="End"/>, which comes when accepting has stopped. Loop thread.
    /// </summary>
    internal void Add(ConnectionContext connection)
    {
        lock (_lock)
        {
            _connections.Enqueue(connection);
            Announce();
        }
    }

    /// <summary>
    /// The next connection. When none is left after <see cref="End"/>: null, or the failure as an exception.
    /// </summary>
    internal async ValueTask<ConnectionContext?> TakeAsync(CancellationToken cancellationToken)
    {
        cancellationToken.ThrowIfCancellationRequested();
        ConnectionContext? connection;
        while (!TryTake(out connection, out Task? arrival))
        {
            await arrival.WaitAsync(cancellationToken);
        }

        return connection;
    }

    /// <summary>Ends the queue; what is in it can still be taken. Any thread.</summary>
    /// <param name="failure">What takers get when it is empty; null, the default, if accepting ended in order.</param>
    internal void End(Exception? failure = null)
    {
        lock (_lock)
        {
            (_isClosed, _failure) = (true, _isClosed ? _failure : failure);
            Announce();
        }
    }

    /// <summary>The connections that were not taken, which the caller then owns. Any thread; after the end.</summary>
    internal ConnectionContext[] TakeAll()
    {
        lock (_lock)
        {
            ConnectionContext[] untaken = [.. _connections];
            _connections.Clear();
            return untaken;
        }
    }

    /// <summary>Wakes the takers, which are application code and run where it does.</summary>
    public override void Execute()
    {
        TaskCompletionSource? arrival;
        lock (_lock)
        {
            (arrival, _arrival, _isScheduled) = (_arrival, null, false);
        }

        arrival?.SetResult();
    }

    /// <summary>Schedules the takers' wake-up if there are any. Under the lock.</summary>
    private void Announce()
    {
        if (_arrival is not null && !_isScheduled)
        {
            _isScheduled = true;
            loop.Schedule(this);
        }
    }

    /// <summary>Takes a connection, or null after the end; false with the task to wait for.</summary>
    private bool TryTake(out ConnectionContext? connection, [NotNullWhen(false)] out Task? arrival)
    {
        bool isHalfFree;
        lock (_lock)
        {
            arrival = null;
            if (!_connections.TryDequeue(out connection))
            {
                if (_isClosed)
                {
                    return _failure is null ? true : throw _failure;
                }

                arrival = (_arrival ??= new()).Task;
                return false;
            }

            isHalfFree = _connections.Count == fullAt / 2;
        }

        if (isHalfFree)
        {
            CapacityAvailable?.Invoke();
        }

        return true;
    }
}
