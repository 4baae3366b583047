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
    private SendSegment? _taken;

    internal ConnectionWriterSide(EventLoop loop, int pauseAt)
    {
        _writer = new ConnectionWriter(loop, NoSocket, pauseAt, _ => { }, _ => { });
    }

    public PipeWriter Writer => _writer;

    public byte[] Send(int count)
    {
        List<byte> sent = [];
        while (sent.Count < count && TryTake())
        {
            int bytes = 0;
            for (SendSegment? segment = _taken; segment is not null && sent.Count < count; segment = segment.Next)
            {
                ReadOnlySpan<byte> piece = segment.Unsent.Span[..Math.Min(count - sent.Count, segment.Length)];
                sent.AddRange(piece);
                bytes += piece.Length;
            }

            _taken = _writer.OnSent(_taken, bytes);
        }

        return [.. sent];
    }

    public void Fail()
    {
        _writer.Fail();
        _writer.Release(_taken);
        _taken = null;
    }

    private bool TryTake()
    {
        if (_taken is null)
        {
            Assert.True(_writer.TryTakeForSend(segmentCount: 2, out _taken, out bool fileFollows));
            Assert.False(fileFollows);
        }

        return _taken is not null;
    }
}
