using System.Buffers;
using System.IO.Pipelines;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Caching.Tests.Http1;

/// <summary>
/// A connection in memory, and the peer at its other end. The client's side behaves as a transport does: an abort ends what waits, and the end
/// of the peer is told. The peer's methods are one test's.
/// </summary>
internal sealed class PeerConnection : DefaultConnectionContext
{
    private readonly Pipe _toClient;
    private readonly Pipe _toPeer;
    private readonly CancellationTokenSource _ended = new();
    private int _disposals;
    private int _aborts;

    /// <param name="room">Bytes that each direction takes before a writer waits.</param>
    /// <param name="isInline">Whether continuations run in the call that brings them about.</param>
    public PeerConnection(int room, bool isInline)
    {
        PipeScheduler scheduler = isInline ? PipeScheduler.Inline : PipeScheduler.ThreadPool;
        PipeOptions options = new(null, scheduler, scheduler, room, Math.Max(1, room / 2), useSynchronizationContext: false);
        (_toClient, _toPeer) = (new(options), new(options));
        Transport = new Duplex(_toClient.Reader, _toPeer.Writer);
        ConnectionClosed = _ended.Token;
    }

    public int Disposals => Volatile.Read(ref _disposals);

    public int Aborts => Volatile.Read(ref _aborts);

    public override void Abort(ConnectionAbortedException abortReason)
    {
        Interlocked.Increment(ref _aborts);
        _toClient.Writer.Complete(abortReason);
        _toPeer.Reader.CancelPendingRead();
        _toPeer.Reader.Complete();
    }

    public override async ValueTask DisposeAsync()
    {
        Interlocked.Increment(ref _disposals);
        await Transport.Input.CompleteAsync();
        await Transport.Output.CompleteAsync();
    }

    /// <summary>Reads up to the empty line.</summary>
    public async Task<string> ReadHeadAsync()
    {
        while (true)
        {
            ReadResult read = await _toPeer.Reader.ReadAsync().AsTask().WaitAsync(Patience.Limit);
            string text = Latin1Text.Of(read.Buffer.ToArray());
            int end = text.IndexOf("\r\n\r\n", StringComparison.Ordinal);
            if (end >= 0)
            {
                _toPeer.Reader.AdvanceTo(read.Buffer.GetPosition(end + 4));
                return text[..(end + 4)];
            }

            Assert.False(read.IsCompleted, "the client has ended the connection");
            _toPeer.Reader.AdvanceTo(read.Buffer.Start, read.Buffer.End);
        }
    }

    /// <summary>Reads bytes of a request's body.</summary>
    public async Task<string> ReadAsync(int count)
    {
        ReadResult read = await _toPeer.Reader.ReadAtLeastAsync(count).AsTask().WaitAsync(Patience.Limit);
        Assert.True(read.Buffer.Length >= count, "the client has ended the connection");
        string text = Latin1Text.Of(read.Buffer.Slice(0, count).ToArray());
        _toPeer.Reader.AdvanceTo(read.Buffer.GetPosition(count));
        return text;
    }

    /// <summary>What lies there unread.</summary>
    public string Peek()
    {
        if (!_toPeer.Reader.TryRead(out ReadResult read))
        {
            return "";
        }

        string text = Latin1Text.Of(read.Buffer.ToArray());
        _toPeer.Reader.AdvanceTo(read.Buffer.Start);
        return text;
    }

    public Task SendAsync(string text) => SendAsync(Latin1Text.Bytes(text));

    /// <summary>Ends without a failure where the client has given the connection up.</summary>
    public async Task SendAsync(ReadOnlyMemory<byte> bytes)
    {
        try
        {
            await _toClient.Writer.WriteAsync(bytes).AsTask().WaitAsync(Patience.Limit);
        }
        catch (InvalidOperationException) when (Aborts + Disposals > 0)
        {
            // An abort has completed the pipe.
        }
    }

    /// <summary>What a time-out or a cancellation does that comes after the wait which it was for.</summary>
    public void Interrupt()
    {
        Transport.Input.CancelPendingRead();
        Transport.Output.CancelPendingFlush();
    }

    /// <summary>Takes nothing more of the request.</summary>
    public void StopReading() => _toPeer.Reader.Complete();

    /// <summary>Ends the connection, orderly or with a failure.</summary>
    public void End(Exception? failure = null)
    {
        _toClient.Writer.Complete(failure);
        _ended.Cancel();
    }

    private sealed class Duplex(PipeReader input, PipeWriter output) : IDuplexPipe
    {
        public PipeReader Input => input;

        public PipeWriter Output => output;
    }
}
