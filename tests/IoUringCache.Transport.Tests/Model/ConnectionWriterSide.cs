using System.IO.Pipelines;
using IoUringCache.Transport.Internal.Buffers;
using IoUringCache.Transport.Internal.Connections;
using IoUringCache.Transport.Internal.Loops;

namespace IoUringCache.Transport.Tests.Model;

/// <summary>The transport's writer, on a loop that runs its continuations and whose kernel has no room for sends beside the ring.</summary>
internal sealed class ConnectionWriterSide : IWriterSide
{
    private const int NoSocket = -1;

    private readonly ConnectionWriter _writer;
    private readonly SendQueue _queue;

    internal ConnectionWriterSide(EventLoop loop, int pauseAt)
    {
        _queue = new SendQueue(loop, NoSocket, pauseAt);
        _writer = new ConnectionWriter(loop, _queue, _ => { }, _ => { });
    }

    public PipeWriter Writer => _writer;

    public byte[] Send(int count)
    {
        List<byte> sent = [];
        while (sent.Count < count && TryTake())
        {
            int bytes = 0;
            for (SendSegment? segment = _queue.LoopSegments; segment is not null && sent.Count < count; segment = segment.Next)
            {
                ReadOnlySpan<byte> piece = segment.Unsent.Span[..Math.Min(count - sent.Count, segment.Length)];
                sent.AddRange(piece);
                bytes += piece.Length;
            }

            _queue.OnSent(bytes);
        }

        return [.. sent];
    }

    public void Fail()
    {
        _queue.Stop();
        _queue.ReleaseLoopSegments();
    }

    private bool TryTake()
    {
        Assert.True(_queue.TryTake(maxSegments: 2));
        Assert.False(_queue.IsFileNext);
        return _queue.LoopSegments is not null;
    }
}
