using System.IO.Pipelines;
using IoUringCache.Transport.Internal.Connections;
using IoUringCache.Transport.Internal.Loops;

namespace IoUringCache.Transport.Tests.Model;

/// <summary>The transport's reader, on a loop that runs its continuations.</summary>
internal sealed class ConnectionReaderSide : IReaderSide
{
    private readonly ConnectionReader _reader;
    private readonly CountedBuffers _buffers = new();

    internal ConnectionReaderSide(EventLoop loop, int pauseAt)
    {
        _reader = new ConnectionReader(loop, new(pauseAt, MaxWriteBufferSize: 1, FinOnError: false, IsPaced: false), () => IsPaused = false);
    }

    public PipeReader Reader => _reader;

    public bool IsPaused { get; private set; }

    /// <summary>Receive buffers that have not come back.</summary>
    internal int AcquiredCount => _buffers.AcquiredCount;

    public bool Append(ReadOnlySpan<byte> bytes)
    {
        ReceiveDemand demand = _reader.Append(_buffers.Acquire(bytes));
        IsPaused |= demand == ReceiveDemand.Pause;
        return demand != ReceiveDemand.None;
    }

    public void End(Exception? error) => _reader.End(error);
}
