using IoUringCache.Transport.Internal.Loops;
using Microsoft.AspNetCore.Connections.Features;

namespace IoUringCache.Transport.Internal.Connections;

/// <summary>
/// A zero-copy writer's wait for space, which the second heartbeat ends at the latest. Application's thread; owned by
/// its connection.
/// </summary>
internal sealed class SpaceWait : IPendingCallOwner<bool>
{
    private readonly ConnectionWriter _writer;
    private readonly SendQueue _queue;
    private readonly PendingCall<bool> _call;

    /// <summary>1 from the start of a wait until its result is read; a second wait must not start in between.</summary>
    private int _isBegun;

    /// <summary>Whether a heartbeat has found the wait. Under the queue's lock.</summary>
    private bool _isLong;

    internal SpaceWait(ConnectionWriter writer, SendQueue queue, EventLoop loop, IConnectionHeartbeatFeature heartbeat)
    {
        _writer = writer;
        _queue = queue;
        _call = new PendingCall<bool>(this, queue.Lock, loop);
        lock (queue.Lock)
        {
            queue.SpaceCall = _call;
        }

        heartbeat.OnHeartbeat(static wait => ((SpaceWait)wait).OnHeartbeat(), this);
    }

    /// <summary>
    /// Begins a wait for space; false during another wait. After reading the result the caller calls <see cref="End"/>;
    /// a false result means that a flush must find the reason, or wait itself.
    /// </summary>
    internal bool TryBegin(CancellationToken cancellationToken, out ValueTask<bool> wait)
    {
        bool isFirst = Interlocked.Exchange(ref _isBegun, 1) == 0;
        wait = isFirst ? WaitAsync(cancellationToken) : default;
        return isFirst;
    }

    internal void End() => Volatile.Write(ref _isBegun, 0);

    Exception? IPendingCallOwner<bool>.GetResult(CancellationToken cancellationToken, out bool result)
    {
        result = _writer.IsOpenWithSpace && !cancellationToken.IsCancellationRequested;
        return null;
    }

    private ValueTask<bool> WaitAsync(CancellationToken cancellationToken)
    {
        CancellationTokenRegistration registration = _call.Register(cancellationToken);
        try
        {
            lock (_queue.Lock)
            {
                if (!_writer.MustWait || cancellationToken.IsCancellationRequested)
                {
                    return new ValueTask<bool>(_writer.IsOpenWithSpace);
                }

                _isLong = false;
                return _call.Begin(cancellationToken, ref registration);
            }
        }
        finally
        {
            registration.Unregister();
        }
    }

    private void OnHeartbeat()
    {
        bool schedule;
        lock (_queue.Lock)
        {
            schedule = _isLong && _call.TryEndWait();
            _isLong = true;
        }

        _call.ScheduleIf(schedule);
    }
}
