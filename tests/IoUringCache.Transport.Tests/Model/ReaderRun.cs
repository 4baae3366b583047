using IoUringCache.Transport.Internal.Loops;

namespace IoUringCache.Transport.Tests.Model;

/// <summary>
/// One sequence of calls, made on a pipe's reader and on the transport's in step. Calls that both refuse, or that the pipe answers by losing
/// something, are left out; <c>docs/parity.md</c> lists those. One thread at a time.
/// </summary>
internal sealed class ReaderRun : IDisposable
{
    private readonly ConnectionReaderSide _side;
    private readonly ReaderClient _model;
    private readonly ReaderClient _actual;
    private readonly EventLoop _loop;
    private bool _isEnded;
    private bool _cancellationIsKept;

    private ReaderRun(EventLoop loop, int pauseAt)
    {
        _loop = loop;
        _side = new ConnectionReaderSide(loop, pauseAt);
        _model = new ReaderClient(new PipeReaderSide(pauseAt));
        _actual = new ReaderClient(_side);
    }

    internal static async Task RunAsync(EventLoop loop, int pauseAt, IReadOnlyList<ReaderStep> steps)
    {
        using ReaderRun run = new(loop, pauseAt);
        for (int index = 0; index < steps.Count; index++)
        {
            if (run.IsCompared(steps[index]))
            {
                await run.CompareAsync($"Step {index}, {steps[index]}", steps[index]);
            }
        }

        await run.EndAsync();
    }

    public void Dispose()
    {
        _model.Dispose();
        _actual.Dispose();
    }

    private bool CanRead => _model.Pending is null && !(_model.HoldsResult && (_cancellationIsKept || _model.HasGoneBack));

    private bool IsCompared(ReaderStep step) => step.Call switch
    {
        ReaderCall.Append or ReaderCall.End or ReaderCall.Fail => !_isEnded,

        // On a pipe a second read loses the first one, and a read that is refused the cancellation that is kept for the next.
        ReaderCall.Read or ReaderCall.ReadWithToken or ReaderCall.ReadWithCancelledToken or ReaderCall.TryRead => CanRead,
        _ => true,
    };

    private async Task CompareAsync(string what, ReaderStep step)
    {
        bool waited = _model.Pending is not null;
        string expected = _model.Do(step);
        string actual = _actual.Do(step);
        Assert.True(expected == actual, $"{what}: expected {expected}, got {actual}.");
        await CompareReadAsync(what);
        _isEnded |= step.Call is ReaderCall.End or ReaderCall.Fail;
        _cancellationIsKept = step.Call switch
        {
            ReaderCall.CancelPendingRead => !waited || _cancellationIsKept,
            ReaderCall.Read or ReaderCall.ReadWithToken or ReaderCall.TryRead => false,
            _ => _cancellationIsKept,
        };

        // When that goes back over its limit, a pipe does not pause.
        Assert.True(_model.HasGoneBack || _model.IsPaused == _actual.IsPaused, $"{what}: paused {_actual.IsPaused}, expected {_model.IsPaused}.");
    }

    private async Task CompareReadAsync(string what)
    {
        if (_model.Pending is { IsCompleted: true })
        {
            string expected = await _model.TakePendingAsync();
            string actual = await _actual.TakePendingAsync();
            Assert.True(expected == actual, $"{what}: the read gave {actual}, expected {expected}.");
        }
        else
        {
            Assert.False(_actual.Pending is { IsCompleted: true }, $"{what}: the read has ended, and has to wait.");
        }
    }

    private async Task EndAsync()
    {
        await PipeModel.SettleAsync(_loop);
        await CompareReadAsync("At last");

        await CompareAsync("At last", new ReaderStep(ReaderCall.Complete));
        Assert.Equal(0, _side.AcquiredCount);
    }
}
