using System.IO.Pipelines;
using IoUringCache.Transport.Tests.Support;

namespace IoUringCache.Transport.Tests.Model;

/// <summary>Makes the calls of a sequence on one side, and says what came of each. One thread at a time.</summary>
internal sealed class WriterClient(IWriterSide side) : IDisposable
{
    private readonly byte[] _stream = Payload.Of(1_000_000);
    private CancellationTokenSource? _source;
    private int _written;

    /// <summary>The flush that waits, and then what it gave; null if none was begun since the last one was taken.</summary>
    internal Task<string>? Pending { get; private set; }

    internal long UnflushedBytes => side.Writer.UnflushedBytes;

    /// <summary>Makes a call. A flush that has to wait is in <see cref="Pending"/>.</summary>
    internal string Do(WriterStep step) => step.Call switch
    {
        WriterCall.GetMemory => Do(() => Assert.True(side.Writer.GetMemory(step.Size).Length >= Math.Max(1, step.Size))),
        WriterCall.GetNegativeMemory => Do(() => side.Writer.GetMemory(-1)),
        WriterCall.Fill => Do(() => Next(step.Size).CopyTo(side.Writer.GetMemory(step.Size)), () => side.Writer.Advance(step.Size)),
        WriterCall.FillSpan => Do(() => Next(step.Size).Span.CopyTo(side.Writer.GetSpan(step.Size)), () => side.Writer.Advance(step.Size)),
        WriterCall.AdvanceTooFar => Do(() => side.Writer.Advance(side.Writer.GetMemory().Length + 1)),
        WriterCall.AdvanceBackwards => Do(() => side.Writer.Advance(-1)),
        WriterCall.Write => Begin(() => side.Writer.WriteAsync(Next(step.Size))),
        WriterCall.WriteWithToken => Begin(() => side.Writer.WriteAsync(Next(step.Size), NewToken())),
        WriterCall.WriteWithCancelledToken => Begin(() => side.Writer.WriteAsync(Next(step.Size), new CancellationToken(canceled: true))),
        WriterCall.Flush => Begin(() => side.Writer.FlushAsync()),
        WriterCall.FlushWithToken => Begin(() => side.Writer.FlushAsync(NewToken())),
        WriterCall.FlushWithCancelledToken => Begin(() => side.Writer.FlushAsync(new CancellationToken(canceled: true))),
        WriterCall.CancelToken => Do(() => _source?.Cancel()),
        WriterCall.CancelPendingFlush => Do(side.Writer.CancelPendingFlush),
        WriterCall.Complete => Do(() => side.Writer.Complete()),
        WriterCall.Send => Convert.ToHexString(side.Send(step.Size)),
        WriterCall.Fail => Do(side.Fail),
        _ => throw new ArgumentOutOfRangeException(nameof(step)),
    };

    /// <summary>What the flush that waited has given.</summary>
    internal async Task<string> TakePendingAsync()
    {
        string outcome = await Pending!.InTime();
        await Task.Yield(); // Off the loop, which must not wait for the test.
        Pending = null;
        return outcome;
    }

    public void Dispose() => _source?.Dispose();

    private static string Do(params Action[] actions) => PipeModel.Outcome(() =>
    {
        Array.ForEach(actions, action => action());
        return "done";
    });

    private ReadOnlyMemory<byte> Next(int length)
    {
        _written += length;
        return _stream.AsMemory(_written - length, length);
    }

    private string Begin(Func<ValueTask<FlushResult>> flush)
    {
        Pending = PipeModel.OutcomeAsync(flush, result => $"flushed {(result.IsCanceled ? "cancelled " : "")}{(result.IsCompleted ? "completed " : "")}");
        return "begun";
    }

    private CancellationToken NewToken()
    {
        _source?.Dispose();
        _source = new CancellationTokenSource();
        return _source.Token;
    }
}
