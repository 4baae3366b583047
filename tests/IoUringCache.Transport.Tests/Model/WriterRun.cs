using IoUringCache.Transport.Internal.Loops;

namespace IoUringCache.Transport.Tests.Model;

/// <summary>
/// One sequence of calls, made on a pipe's writer and on the transport's in step. Calls that the pipe answers by losing something are left
/// out; <c>docs/parity.md</c> lists those. One thread at a time.
/// </summary>
internal sealed class WriterRun : IDisposable
{
    private readonly WriterClient _model;
    private readonly WriterClient _actual;
    private bool _isFailed;

    private WriterRun(EventLoop loop, int pauseAt)
    {
        _model = new WriterClient(new PipeWriterSide(pauseAt));
        _actual = new WriterClient(new ConnectionWriterSide(loop, pauseAt));
    }

    internal static async Task RunAsync(EventLoop loop, int pauseAt, IReadOnlyList<WriterStep> steps)
    {
        int rented = loop.SendSegments.RentedCount;
        using WriterRun run = new(loop, pauseAt);
        for (int index = 0; index < steps.Count; index++)
        {
            if (run.IsCompared(steps[index]))
            {
                await run.CompareAsync($"Step {index}, {steps[index]}", steps[index]);
            }
        }

        await PipeModel.SettleAsync(loop);
        await run.CompareFlushAsync("At last");
        await run.CompareAsync("At last", new WriterStep(WriterCall.Complete));
        if (!run._isFailed)
        {
            await run.CompareAsync("At last", new WriterStep(WriterCall.Send, int.MaxValue));
            await run.CompareAsync("At last", new WriterStep(WriterCall.Fail));
        }

        Assert.Equal(rented, loop.SendSegments.RentedCount);
    }

    public void Dispose()
    {
        _model.Dispose();
        _actual.Dispose();
    }

    private bool IsCompared(WriterStep step) => step.Call switch
    {
        // On a pipe a second flush loses the first one.
        WriterCall.Write or WriterCall.WriteWithToken or WriterCall.WriteWithCancelledToken => _model.Pending is null,
        WriterCall.Flush or WriterCall.FlushWithToken or WriterCall.FlushWithCancelledToken => _model.Pending is null,
        WriterCall.Send or WriterCall.Fail => !_isFailed,
        _ => true,
    };

    private async Task CompareAsync(string what, WriterStep step)
    {
        string expected = _model.Do(step);
        string actual = _actual.Do(step);
        Assert.True(expected == actual, $"{what}: expected {expected}, got {actual}.");
        await CompareFlushAsync(what);
        _isFailed |= step.Call == WriterCall.Fail;
        Assert.True(
            _model.UnflushedBytes == _actual.UnflushedBytes, $"{what}: {_actual.UnflushedBytes} bytes unflushed, expected {_model.UnflushedBytes}.");
    }

    private async Task CompareFlushAsync(string what)
    {
        if (_model.Pending is { IsCompleted: true })
        {
            string expected = await _model.TakePendingAsync();
            string actual = await _actual.TakePendingAsync();
            Assert.True(expected == actual, $"{what}: the flush gave {actual}, expected {expected}.");
        }
        else
        {
            Assert.False(_actual.Pending is { IsCompleted: true }, $"{what}: the flush has ended, and has to wait.");
        }
    }
}
