using System.Net.Sockets;
using IoUringCache.Caching.Load;
using Microsoft.AspNetCore.Connections.Features;

namespace IoUringCache.Caching.Serving;

/// <summary>
/// What the kernel holds for a client, and how fast that goes. Of TCP it tells how much the client has acknowledged; of a Unix socket only how
/// much memory what has not been read takes (<c>SO_MEMINFO</c> of linux/sock_diag.h), so that what is read just when more is sent is not seen: a
/// quarter at most, because the kernel asks for more when three quarters are free. One thread at a time.
/// </summary>
internal sealed class SendQueue(IConnectionSocketFeature? connection)
{
    private const int SocketLevel = 1;
    private const int MemoryOption = 55;
    private const int SendMemoryOffset = 2 * sizeof(uint);
    private const int MemoryBytes = 9 * sizeof(uint);

    private bool _isTcp = true;
    private long? _last;

    /// <summary>Bytes that the client has taken since it connected; of a Unix socket those that were seen.</summary>
    public long TakenBytes { get; private set; }

    /// <summary>Asks the kernel.</summary>
    /// <param name="taken">Bytes that the client has taken since the last look; 0 at the first.</param>
    /// <returns>Bytes that it has not taken.</returns>
    public long Look(out long taken)
    {
        if (_isTcp && TcpInfo.Of(connection) is { } tcp)
        {
            taken = tcp.AcknowledgedBytes - (_last ?? tcp.AcknowledgedBytes);
            _last = TakenBytes = tcp.AcknowledgedBytes;
            return tcp.QueuedBytes;
        }

        long held = HeldMemory();
        taken = _isTcp ? 0 : Math.Max(0, (_last ?? held) - held);
        (_isTcp, _last) = (false, held);
        TakenBytes += taken;
        return held;
    }

    /// <summary>0 if there is no socket any more.</summary>
    private long HeldMemory()
    {
        Span<byte> memory = stackalloc byte[MemoryBytes];
        try
        {
            return connection?.Socket.GetRawSocketOption(SocketLevel, MemoryOption, memory) == MemoryBytes
                ? BitConverter.ToUInt32(memory[SendMemoryOffset..])
                : 0;
        }
        catch (Exception failure) when (failure is SocketException or ObjectDisposedException)
        {
            return 0;
        }
    }
}
