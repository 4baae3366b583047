using System.Net;
using IoUringCache.Transport;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Caching.Http1;

/// <summary>
/// The idle connections to one address. The one that was used last is taken first, if there is one on the caller's event loop: then no byte
/// changes threads on its way. Any thread; owned by the client.
/// </summary>
/// <param name="endPoint">Where to connect; a name is resolved for each connection.</param>
/// <param name="connections">Makes them.</param>
/// <param name="time">Clock.</param>
internal sealed class ConnectionPool(EndPoint endPoint, IConnectionFactory connections, TimeProvider time) : IDisposable
{
    /// <summary>A connection that was idle for so long is closed.</summary>
    private static readonly TimeSpan s_idleTime = TimeSpan.FromMinutes(1);

    /// <summary>A connection is used for so long: else an old address of a name would be kept for ever.</summary>
    private static readonly TimeSpan s_lifetime = TimeSpan.FromMinutes(2);

    /// <summary>
    /// Peers close connections that were idle for a time of theirs, and some send an answer first, such as a 408. After so long the kernel is asked
    /// whether anything has come that the event loop has not seen yet.
    /// </summary>
    private static readonly TimeSpan s_trustedTime = TimeSpan.FromMilliseconds(100);

    private readonly Lock _lock = new();
    private readonly List<Http1Connection> _idle = [];
    private ITimer? _sweep;
    private bool _isDisposed;

    /// <summary>An idle connection, which the caller now owns; <see langword="null"/> if there is none.</summary>
    /// <param name="near">Where the caller runs.</param>
    /// <param name="isRepeatable">Whether the caller sends its request anew if the connection ends without an answer.</param>
    /// <param name="now">Time stamp.</param>
    public Http1Connection? TryTake(IConnectionSchedulerFeature near, bool isRepeatable, long now)
    {
        while (true)
        {
            Http1Connection connection;
            lock (_lock)
            {
                if (_idle.Count == 0)
                {
                    return null;
                }

                int index = IndexOf(near);
                connection = _idle[index];
                _idle.RemoveAt(index);
            }

            if (connection.IsSound(asksKernel: !isRepeatable || time.GetElapsedTime(connection.UsedAt, now) >= s_trustedTime))
            {
                return connection;
            }

            connection.Close();
        }
    }

    /// <summary>A new connection, which the caller owns.</summary>
    /// <exception cref="Exception">As of the factory.</exception>
    public async ValueTask<Http1Connection> ConnectAsync(CancellationToken cancellationToken)
    {
        Http1Connection connection = new(await connections.ConnectAsync(endPoint, cancellationToken), this, time);
        connection.Ended.UnsafeRegister(static (state, _) => ((Http1Connection)state!).OnEnded(), connection);
        return connection;
    }

    /// <summary>Takes a connection whose last exchange has ended well.</summary>
    public void Return(Http1Connection connection)
    {
        connection.UsedAt = time.GetTimestamp();
        lock (_lock)
        {
            if (!_isDisposed && !connection.Ended.IsCancellationRequested && time.GetElapsedTime(connection.MadeAt, connection.UsedAt) < s_lifetime)
            {
                _idle.Add(connection);
                _sweep ??= time.CreateTimer(static pool => ((ConnectionPool)pool!).Sweep(), this, s_idleTime, s_idleTime / 4);
                return;
            }
        }

        connection.Close();
    }

    /// <summary>Closes a connection that its peer has ended, if it is idle.</summary>
    public void Remove(Http1Connection connection)
    {
        bool isIdle;
        lock (_lock)
        {
            isIdle = _idle.Remove(connection);
        }

        if (isIdle)
        {
            connection.Close();
        }
    }

    /// <summary>Closes what is idle; what is in use is closed when its exchange ends.</summary>
    public void Dispose()
    {
        Http1Connection[] idle;
        lock (_lock)
        {
            _isDisposed = true;
            idle = [.. _idle];
            _idle.Clear();
            _sweep?.Dispose();
        }

        Array.ForEach(idle, static connection => connection.Close());
    }

    /// <summary>The last one on an event loop, or the last one of all. Under the lock.</summary>
    private int IndexOf(IConnectionSchedulerFeature near)
    {
        for (int index = _idle.Count - 1; index >= 0; index--)
        {
            if (ReferenceEquals(_idle[index].Scheduler, near))
            {
                return index;
            }
        }

        return _idle.Count - 1;
    }

    private void Sweep()
    {
        List<Http1Connection> old = [];
        lock (_lock)
        {
            for (int index = _idle.Count - 1; index >= 0; index--)
            {
                Http1Connection connection = _idle[index];
                if (time.GetElapsedTime(connection.UsedAt) >= s_idleTime || time.GetElapsedTime(connection.MadeAt) >= s_lifetime)
                {
                    _idle.RemoveAt(index);
                    old.Add(connection);
                }
            }

            if (_idle.Count == 0)
            {
                _sweep?.Dispose();
                _sweep = null;
            }
        }

        old.ForEach(static connection => connection.Close());
    }
}
