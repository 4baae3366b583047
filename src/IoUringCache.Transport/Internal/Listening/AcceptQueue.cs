using System.Diagnostics;
using System.Threading.Channels;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Transport.Internal.Listening;

/// <summary>
/// Connections that were accepted and that Kestrel has not taken yet. The loop that accepts adds, Kestrel's accept loop takes. The limit
/// is a mark, not a wall: what the kernel accepted already is never dropped. Owned by its listener.
/// </summary>
internal sealed class AcceptQueue(int fullAt)
{
    private readonly Channel<ConnectionContext> _channel = Channel.CreateUnbounded<ConnectionContext>();
    private int _count;

    /// <summary>Called when a taken connection makes room again; any thread. Set before the first connection is added.</summary>
    internal Action? RoomAgain { get; set; }

    internal bool IsFull => Volatile.Read(ref _count) >= fullAt;

    /// <summary>Adds a connection; not after <see cref="Close"/>, which comes when accepting has stopped.</summary>
    internal void Add(ConnectionContext connection)
    {
        Interlocked.Increment(ref _count);
        bool added = _channel.Writer.TryWrite(connection);
        Debug.Assert(added, "The queue is closed after the acceptor has stopped.");
    }

    /// <summary>The next connection, or null after <see cref="Close"/>. Throws what <see cref="Fail"/> was given when none is left.</summary>
    internal async ValueTask<ConnectionContext?> TakeAsync(CancellationToken cancellationToken)
    {
        while (await _channel.Reader.WaitToReadAsync(cancellationToken))
        {
            if (TryTake(out ConnectionContext? connection))
            {
                return connection;
            }
        }

        return null;
    }

    /// <summary>No connection will come any more, and whoever waits for one hears why. Any thread.</summary>
    internal void Fail(Exception reason) => _channel.Writer.TryComplete(reason);

    /// <summary>Ends the queue and hands out what nobody took.</summary>
    internal IEnumerable<ConnectionContext> Close()
    {
        _channel.Writer.TryComplete();
        while (TryTake(out ConnectionContext? connection))
        {
            yield return connection!;
        }
    }

    private bool TryTake(out ConnectionContext? connection)
    {
        if (!_channel.Reader.TryRead(out connection))
        {
            return false;
        }

        if (Interlocked.Decrement(ref _count) == fullAt / 2)
        {
            RoomAgain?.Invoke();
        }

        return true;
    }
}
