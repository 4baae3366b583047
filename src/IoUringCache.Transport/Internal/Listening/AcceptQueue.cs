using System.Diagnostics.CodeAnalysis;
using IoUringCache.Transport.Internal.Loops;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Transport.Internal.Listening;

/// <summary>
/// Connections that were accepted and that Kestrel has not taken yet. The loop that accepts adds; Kestrel's accept loop takes, and when it has
/// waited goes on where the code of applications does, so that with inline scheduling no other thread is woken. The limit is a mark, not a
/// wall: what the kernel accepted already is never dropped. Owned by its listener.
/// <para>
/// No arrival is lost. Under the lock a taker finds a connection, or the end, or leaves <see cref="_arrival"/> behind; whoever adds or ends
/// under the lock sees that, and has this called unless a call is on its way. The call takes the wait away under the lock, so what comes
/// after that finds the next one.
/// </para>
/// </summary>
/// <param name="fullAt">The mark.</param>
/// <param name="loop">The loop that accepts.</param>
internal sealed class AcceptQueue(int fullAt, EventLoop loop) : LoopWorkItem
{
    private readonly Lock _lock = new();
    private readonly Queue<ConnectionContext> _connections = new();

    /// <summary>What takers wait for; null if nobody does.</summary>
    private TaskCompletionSource? _arrival;

    /// <summary>Whether a call is on its way that has not taken the wait yet.</summary>
    private bool _isScheduled;

    private bool _isClosed;
    private Exception? _failure;

    /// <summary>Called when a taken connection makes room again; any thread. Set before the first connection is added.</summary>
    internal Action? RoomAgain { get; set; }

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

    /// <summary>Adds a connection; not after <see cref="Close"/>, which comes when accepting has stopped. Loop thread.</summary>
    internal void Add(ConnectionContext connection)
    {
        lock (_lock)
        {
            _connections.Enqueue(connection);
            Announce();
        }
    }

    /// <summary>The next connection, or null after <see cref="Close"/>. Throws what <see cref="Fail"/> was given when none is left.</summary>
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

    /// <summary>No connection will come any more, and whoever waits for one hears why. Any thread.</summary>
    internal void Fail(Exception reason)
    {
        lock (_lock)
        {
            (_isClosed, _failure) = (true, _isClosed ? _failure : reason);
            Announce();
        }
    }

    /// <summary>Ends the queue and hands out what nobody took. Any thread.</summary>
    internal ConnectionContext[] Close()
    {
        lock (_lock)
        {
            ConnectionContext[] untaken = [.. _connections];
            _connections.Clear();
            _isClosed = true;
            Announce();
            return untaken;
        }
    }

    /// <summary>Tells those who wait to look again. Scheduled like all application code, which they are.</summary>
    public override void Execute()
    {
        TaskCompletionSource? arrival;
        lock (_lock)
        {
            (arrival, _arrival, _isScheduled) = (_arrival, null, false);
        }

        arrival?.SetResult();
    }

    /// <summary>Under the lock: somebody may wait for what has just come.</summary>
    private void Announce()
    {
        if (_arrival is not null && !_isScheduled)
        {
            _isScheduled = true;
            loop.Schedule(this);
        }
    }

    /// <summary>A connection, or null for none ever again; false with what to wait for.</summary>
    private bool TryTake(out ConnectionContext? connection, [NotNullWhen(false)] out Task? arrival)
    {
        bool isRoomAgain;
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

            isRoomAgain = _connections.Count == fullAt / 2;
        }

        if (isRoomAgain)
        {
            RoomAgain?.Invoke();
        }

        return true;
    }
}
