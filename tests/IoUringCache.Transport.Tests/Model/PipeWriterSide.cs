using System.Buffers;
using System.IO.Pipelines;

namespace IoUringCache.Transport.Tests.Model;

/// <summary>
/// The model: the writer of a <see cref="Pipe"/> with the limits that the Sockets transport gives it. Its continuations run within the calls.
/// </summary>
internal sealed class PipeWriterSide(int pauseAt) : IWriterSide
{
    private readonly Pipe _pipe = new(PipeModel.Options(pauseAt));

    public PipeWriter Writer => _pipe.Writer;

    public byte[] Send(int count)
    {
        if (!_pipe.Reader.TryRead(out ReadResult result))
        {
            return [];
        }

        ReadOnlySequence<byte> sent = result.Buffer.Slice(0, Math.Min(count, result.Buffer.Length));
        byte[] bytes = sent.ToArray();
        _pipe.Reader.AdvanceTo(sent.End);
        return bytes;
    }

    public void Fail() => _pipe.Reader.Complete();
}
