using System.Buffers;
using System.IO.Pipelines;
using System.Net.Sockets;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Transport.Tests.Fuzz;

/// <summary>
/// Runs one script on one connection. Its steps begin one after the other and do not wait for each other's effects, so that those meet
/// in the transport; whatever has ended by then is shown to the model after each step. One thread at a time, but for the client's side
/// of an ending.
/// </summary>
internal sealed class ScriptRun
{
    private readonly FuzzClient _client;
    private readonly ConnectionContext _server;
    private readonly ConnectionModel _model;
    private readonly PipeReader _input;
    private readonly PipeWriter _output;
    private readonly CancellationToken _closed;

    private Task<ReadResult>? _reading;
    private CancellationTokenSource _readToken = new();
    private ReadResult? _result;
    private Task<FlushResult>? _flushing;
    private CancellationTokenSource _flushToken = new();
    private Task? _disposing;

    internal ScriptRun(Socket client, ConnectionContext server, ConnectionModel model)
    {
        _client = new FuzzClient(client, model);
        _server = server;
        _model = model;
        _input = server.Transport.Input;
        _output = server.Transport.Output;
        _closed = server.ConnectionClosed;
    }

    internal async Task RunAsync(Script script)
    {
        foreach (Step step in script.Steps)
        {
            await TakeAsync(step);
            Observe();
        }

        await EndAsync(script.Ending);
    }

    private async Task TakeAsync(Step step)
    {
        switch (step.Kind)
        {
            case StepKind.ClientSend:
                _client.Send(step.Size);
                break;
            case StepKind.ClientReceive:
                _client.Receive(step.Size);
                break;
            case StepKind.ClientFin:
                _client.Finish();
                break;
            case StepKind.ClientReset:
                _client.Reset();
                break;
            case StepKind.Read:
                Read(CancellationToken.None);
                break;
            case StepKind.ReadWithToken:
                Read(_readToken.Token);
                break;
            case StepKind.CancelReadToken:
                await _readToken.CancelAsync().InTime();
                break;
            case StepKind.CancelPendingRead:
                _model.ReadCancelled();
                _input.CancelPendingRead();
                break;
            case StepKind.AwaitRead when _reading is not null && _model.ReadIsDue:
                await Task.WhenAny(_reading).InTime();
                break;
            case StepKind.Advance:
                Advance(step.Size, step.Share);
                break;
            case StepKind.CompleteInput:
                CompleteInput(null);
                break;
            case StepKind.FailInput:
                CompleteInput(new InvalidDataException("The script fails the input."));
                break;
            case StepKind.Write:
                Write(step.Size);
                break;
            case StepKind.GetMemory when !_model.OutputIsCompleted && _flushing is null:
                Assert.True(_output.GetMemory(step.Size).Length >= step.Size, "There is less memory than was asked for.");
                break;
            case StepKind.Flush:
                Flush(CancellationToken.None);
                break;
            case StepKind.FlushWithToken:
                Flush(_flushToken.Token);
                break;
            case StepKind.CancelFlushToken:
                await _flushToken.CancelAsync().InTime();
                break;
            case StepKind.CancelPendingFlush:
                _model.FlushCancelled();
                _output.CancelPendingFlush();
                break;
            case StepKind.CompleteOutput:
                CompleteOutput(null);
                break;
            case StepKind.FailOutput:
                CompleteOutput(new InvalidDataException("The script fails the output."));
                break;
            case StepKind.Abort:
                Abort();
                break;
            case StepKind.Dispose:
                Dispose();
                break;
            case StepKind.Pause:
                for (int i = 0; i < step.Size; i++)
                {
                    await Task.Yield();
                }

                break;
            default:
                break;
        }
    }

    private void Observe()
    {
        if (_reading is { IsCompleted: true })
        {
            OnReadEnded();
        }

        if (_flushing is { IsCompleted: true })
        {
            OnFlushEnded();
        }

        _model.CheckClosed(_closed.IsCancellationRequested);
    }

    private void Read(CancellationToken token)
    {
        if (_model.InputIsCompleted)
        {
            Assert.Throws<InvalidOperationException>(() => { _ = _input.ReadAsync(token).AsTask(); });
        }
        else if (_reading is null && _result is null)
        {
            _reading = BeginReadAsync(token);
        }
    }

    /// <summary>What the call throws at once counts like what it ends with.</summary>
    private async Task<ReadResult> BeginReadAsync(CancellationToken token) => await _input.ReadAsync(token);

    private void OnReadEnded()
    {
        Task<ReadResult> ended = _reading!;
        _reading = null;
        if (!ended.IsCompletedSuccessfully)
        {
            _model.ReadFailed(ErrorOf(ended), _readToken.Token);
        }
        else if (!_model.InputIsCompleted)
        {
            // After it has completed its input, the memory of a result would no longer be the application's.
            _model.ReadEnded(ended.Result);
            _result = ended.Result;
        }

        Renew(ref _readToken);
    }

    private void Advance(int consumedShare, int examinedShare)
    {
        if (_result is not { } result)
        {
            return;
        }

        (int consumed, int examined) = _model.ChooseAdvance((int)result.Buffer.Length, consumedShare, examinedShare);
        _input.AdvanceTo(result.Buffer.GetPosition(consumed), result.Buffer.GetPosition(examined));
        _model.Advanced(consumed, examined);
        _result = null;
    }

    private void CompleteInput(Exception? error)
    {
        _model.InputCompleted();
        _result = null;
        _input.Complete(error);
    }

    private void Write(int count)
    {
        if (_model.OutputIsCompleted)
        {
            Assert.Throws<InvalidOperationException>(() => { _ = _output.GetMemory(); });
        }
        else if (_flushing is null)
        {
            ReadOnlyMemory<byte> bytes = _model.NextToWrite(count);
            _output.Write(bytes.Span);
            _model.Written(bytes.Length);
        }
    }

    private void Flush(CancellationToken token)
    {
        if (_flushing is null && !_model.OutputIsCompleted)
        {
            _flushing = BeginFlushAsync(token);
        }
    }

    private async Task<FlushResult> BeginFlushAsync(CancellationToken token) => await _output.FlushAsync(token);

    private void OnFlushEnded()
    {
        Task<FlushResult> ended = _flushing!;
        _flushing = null;
        if (ended.IsCompletedSuccessfully)
        {
            _model.FlushEnded(ended.Result);
        }
        else
        {
            _model.FlushFailed(ErrorOf(ended), _flushToken.Token);
        }

        Renew(ref _flushToken);
    }

    private void CompleteOutput(Exception? error)
    {
        _model.OutputCompleted(failed: error is not null);
        _output.Complete(error);
    }

    private void Abort()
    {
        _model.Aborted();
        _server.Abort(new ConnectionAbortedException("The script aborts."));
    }

    private void Dispose()
    {
        _model.InputCompleted();
        _model.OutputCompleted(failed: false);
        _result = null;
        _disposing ??= _server.DisposeAsync().AsTask();
    }

    private async Task EndAsync(Ending ending)
    {
        Task client;
        switch (ending)
        {
            case Ending.Drain when _model.CanDrain:
                _client.Finish();
                client = _client.ReceiveToEndAsync();
                await ReadToEndAsync();
                await FlushAsync();
                CompleteOutput(null);
                break;
            case Ending.Abort:
                Abort();
                client = _client.ReceiveToEndAsync();
                await ClosedAsync();
                break;
            case Ending.ClientReset:
                _client.Reset();
                client = Task.CompletedTask;
                break;
            default:
                Dispose();
                client = _client.ReceiveToEndAsync();
                break;
        }

        await client.InTime();
        Dispose();
        await _disposing!.InTime();
        Assert.True(_closed.IsCancellationRequested, "ConnectionClosed has not fired, and the connection is disposed.");
        await EndedAsync(_reading);
        await EndedAsync(_flushing);
        Observe();
        _client.Dispose();
        _readToken.Dispose();
        _flushToken.Dispose();
    }

    private async Task ReadToEndAsync()
    {
        bool isCompleted = false;
        while (!isCompleted)
        {
            if (_result is null)
            {
                Read(CancellationToken.None);
                await EndedAsync(_reading);
                Observe();
            }

            isCompleted = _result?.IsCompleted ?? false;
            Advance(100, 100);
        }

        _model.AssertUploadIsComplete();
    }

    private async Task FlushAsync()
    {
        await EndedAsync(_flushing);
        Observe();
        Flush(CancellationToken.None);
        await EndedAsync(_flushing);
        Observe();
    }

    private async Task ClosedAsync()
    {
        TaskCompletionSource fired = new(TaskCreationOptions.RunContinuationsAsynchronously);
        using CancellationTokenRegistration registration = _closed.UnsafeRegister(_ => fired.SetResult(), null);
        await fired.Task.InTime();
    }

    private static Task EndedAsync(Task? task) => task is null ? Task.CompletedTask : Task.WhenAny(task).InTime();

    /// <summary>By rethrowing it: a task that counts as cancelled keeps its exception for those who await it.</summary>
    private static Exception ErrorOf(Task ended) => Record.Exception(() => ended.GetAwaiter().GetResult())!;

    private static void Renew(ref CancellationTokenSource source)
    {
        if (source.IsCancellationRequested)
        {
            source.Dispose();
            source = new CancellationTokenSource();
        }
    }
}
