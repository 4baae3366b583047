using System.Buffers;
using System.IO.Pipelines;
using Microsoft.AspNetCore.Connections;

namespace Protocol.Tests.SignalR;

/// <summary>
/// A client's connection to a hub: two pipes to the <c>HubConnection</c>, and a task for each direction. What the tasks do is the
/// transport's. One owner, which disposes it; the tasks run on the thread pool.
/// </summary>
internal abstract class HubLink : DefaultConnectionContext
{
    private readonly Pipe _incoming = new();
    private readonly Pipe _outgoing = new();
    private readonly CancellationTokenSource _ended = new();
    private Task _pumps = Task.CompletedTask;

    protected HubLink()
    {
        Transport = new HubPipes(_incoming.Reader, _outgoing.Writer);
    }

    internal void Start() => _pumps = Task.WhenAll(ReceiveUntilEndAsync(), SendUntilEndAsync());

    public override async ValueTask DisposeAsync()
    {
        await _outgoing.Writer.CompleteAsync();
        await _incoming.Reader.CompleteAsync();
        await _ended.CancelAsync();
        await _pumps;
        await CloseAsync();
        _ended.Dispose();
        await base.DisposeAsync();
    }

    /// <summary>Writes what the server sends until it ends; throws where the connection fails.</summary>
    protected abstract Task ReceiveAsync(PipeWriter writer, CancellationToken cancellation);

    protected abstract Task SendAsync(ReadOnlySequence<byte> data, CancellationToken cancellation);

    /// <summary>Called when both tasks have ended. Does not throw.</summary>
    protected abstract ValueTask CloseAsync();

    private async Task ReceiveUntilEndAsync()
    {
        try
        {
            await ReceiveAsync(_incoming.Writer, _ended.Token);
            await _incoming.Writer.CompleteAsync();
        }
        catch (Exception exception)
        {
            // The hub connection's reader throws it, which is how it learns that it has to connect again.
            await _incoming.Writer.CompleteAsync(exception);
        }
    }

    private async Task SendUntilEndAsync()
    {
        try
        {
            while (true)
            {
                ReadResult read = await _outgoing.Reader.ReadAsync(_ended.Token);
                if (!read.Buffer.IsEmpty)
                {
                    await SendAsync(read.Buffer, _ended.Token);
                }

                _outgoing.Reader.AdvanceTo(read.Buffer.End);
                if (read.IsCompleted)
                {
                    break;
                }
            }

            await _outgoing.Reader.CompleteAsync();
        }
        catch (Exception exception)
        {
            await _outgoing.Reader.CompleteAsync(exception);
        }
    }

    private sealed record HubPipes(PipeReader Input, PipeWriter Output) : IDuplexPipe;
}
