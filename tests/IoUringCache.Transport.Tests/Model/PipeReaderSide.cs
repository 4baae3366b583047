using System.IO.Pipelines;

namespace IoUringCache.Transport.Tests.Model;

/// <summary>
/// The model: the reader of a <see cref="Pipe"/> with the limits that the Sockets transport gives it. Its continuations run within the calls.
/// </summary>
internal sealed class PipeReaderSide(int pauseAt) : IReaderSide
{
    private readonly Pipe _pipe = new(PipeModel.Options(pauseAt));

    public PipeReader Reader => _pipe.Reader;

    /// <summary>A flush of nothing would wait. It is not awaited: the transport adds what was on its way all the same.</summary>
    public bool IsPaused
    {
        get
        {
            ValueTask<FlushResult> flush = _pipe.Writer.FlushAsync();
            return !flush.IsCompleted;
        }
    }

    public bool Append(ReadOnlySpan<byte> bytes)
    {
        bytes.CopyTo(_pipe.Writer.GetSpan(bytes.Length));
        _pipe.Writer.Advance(bytes.Length);
        ValueTask<FlushResult> flush = _pipe.Writer.FlushAsync();
        return !flush.IsCompleted || !flush.Result.IsCompleted;
    }

    public void End(Exception? error) => _pipe.Writer.Complete(error);
}
