using System.Buffers;
using System.IO.Pipelines;
using System.Net.Sockets;
using System.Runtime.CompilerServices;
using IoUringCache.Transport.Internal.Connections;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Transport.Internal.Connecting;

/// <summary>
/// A connection as a stream: one reader and one writer at a time, on any threads. Owned by the HTTP client; owns the
/// connection.
/// </summary>
/// <remarks>
/// A read that finds data, FIN or a reset ends at once, also on a thread that has no loop: that is how an HTTP client
/// notices that the server has closed an idle connection. It looks into the kernel too, since the loop of the connection
/// may not have run yet. Synchronous calls block their thread.
/// <para>
/// An HTTP client disposes the stream on any thread, also in the middle of a call. The memory of the pipe is another
/// connection's as soon as a pipe end is completed, so that waits until no call is left; the disposal ends those that wait.
/// </para>
/// </remarks>
/// <param name="connection">The connection, whose pipe nothing else uses.</param>
/// <param name="time">Measures how long the end may take.</param>
internal sealed class ConnectionStream(IoUringConnectionContext connection, TimeProvider time) : Stream
{
    private const int Reading = 1;
    private const int Writing = 2;
    private const int Disposed = 4;

    /// <summary>Bytes of one write to the pipe, so that back-pressure bounds the copy.</summary>
    private const int MaxWrittenBytes = 64 * 1024;

    /// <summary>How long written bytes may take to leave after the end, before the connection is reset.</summary>
    private static readonly TimeSpan s_lingerTime = TimeSpan.FromSeconds(10);

    /// <summary>How long an end that the kernel knows may take to come by the loop: as long as a hand-over of a loop.</summary>
    private static readonly TimeSpan s_endTime = TimeSpan.FromMilliseconds(5);

    private readonly PipeReader _input = connection.Transport.Input;
    private readonly PipeWriter _output = connection.Transport.Output;

    /// <summary>
    /// Ends when the stream is disposed and no call is left; not used if none was under way. The disposal goes on on the thread of the last call.
    /// </summary>
    private readonly TaskCompletionSource _isUnused = new();

    /// <summary>The calls under way, and <see cref="Disposed"/>, after which no call begins.</summary>
    private int _uses;

    public override bool CanRead => !IsDisposed;

    public override bool CanWrite => !IsDisposed;

    public override bool CanSeek => false;

    private bool IsDisposed => (Volatile.Read(ref _uses) & Disposed) != 0;

    public override long Length => throw new NotSupportedException();

    public override long Position
    {
        get => throw new NotSupportedException();
        set => throw new NotSupportedException();
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public override async ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken = default)
    {
        Begin(Reading);
        try
        {
            cancellationToken.ThrowIfCancellationRequested();
            if (!TryRead(out ReadResult result))
            {
                result = await _input.ReadAsync(cancellationToken).ConfigureAwait(false);
            }

            return result.IsCanceled ? throw Ended() : Take(result.Buffer, buffer);
        }
        catch (ConnectionAbortedException aborted)
        {
            throw new IOException(aborted.Message, aborted); // No cancellation for the caller, as its type says.
        }
        finally
        {
            End(Reading);
        }
    }

    public override Task<int> ReadAsync(byte[] buffer, int offset, int count, CancellationToken cancellationToken) =>
        ReadAsync(buffer.AsMemory(offset, count), cancellationToken).AsTask();

    public override int Read(byte[] buffer, int offset, int count)
    {
        ValueTask<int> read = ReadAsync(buffer.AsMemory(offset, count));
        return read.IsCompleted ? read.GetAwaiter().GetResult() : read.AsTask().GetAwaiter().GetResult();
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder))]
    public override async ValueTask WriteAsync(ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default)
    {
        Begin(Writing);
        try
        {
            do
            {
                ReadOnlyMemory<byte> piece = buffer[..Math.Min(buffer.Length, MaxWrittenBytes)];
                FlushResult result = await _output.WriteAsync(piece, cancellationToken).ConfigureAwait(false);
                if (result.IsCompleted || result.IsCanceled)
                {
                    throw Ended();
                }

                buffer = buffer[piece.Length..];
            }
            while (!buffer.IsEmpty);
        }
        finally
        {
            End(Writing);
        }
    }

    public override Task WriteAsync(byte[] buffer, int offset, int count, CancellationToken cancellationToken) =>
        WriteAsync(buffer.AsMemory(offset, count), cancellationToken).AsTask();

    public override void Write(byte[] buffer, int offset, int count) => WriteAsync(buffer.AsMemory(offset, count)).AsTask().GetAwaiter().GetResult();

    /// <summary>Does nothing: each write is on its way when it returns.</summary>
    public override void Flush()
    {
    }

    /// <inheritdoc cref="Flush"/>
    public override Task FlushAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    public override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException();

    public override void SetLength(long value) => throw new NotSupportedException();

    /// <summary>Ends the connection and waits until it is closed.</summary>
    public override async ValueTask DisposeAsync()
    {
        await EndAsync().ConfigureAwait(false);
        await base.DisposeAsync().ConfigureAwait(false);
    }

    /// <summary>Ends the connection without waiting.</summary>
    protected override void Dispose(bool disposing)
    {
        _ = EndAsync();
        base.Dispose(disposing);
    }

    /// <summary>
    /// Sends FIN behind all that was written, or a reset if data is unread or a write waits, as the close of a socket
    /// does. The first call does it.
    /// </summary>
    private async Task EndAsync()
    {
        int uses = Interlocked.Or(ref _uses, Disposed);
        if ((uses & Disposed) != 0)
        {
            return;
        }

        if ((uses & Reading) != 0)
        {
            _input.CancelPendingRead();
        }

        if ((uses & Writing) != 0)
        {
            Abort();
        }

        if (uses != 0)
        {
            await _isUnused.Task.ConfigureAwait(false);
        }

        if (HasUnreadData())
        {
            Abort();
        }

        Task closed = connection.DisposeAsync().AsTask();
        try
        {
            await closed.WaitAsync(s_lingerTime, time).ConfigureAwait(false);
        }
        catch (TimeoutException)
        {
            connection.Abort(new ConnectionAbortedException("The peer did not take what was written before the stream was disposed."));
            await closed.ConfigureAwait(false);
        }
    }

    private void Abort() => connection.Abort(new ConnectionAbortedException("The stream was disposed before all was read and written."));

    private void Begin(int call)
    {
        int uses = Volatile.Read(ref _uses);
        int seen;
        do
        {
            ObjectDisposedException.ThrowIf((uses & Disposed) != 0, this);
            if ((uses & call) != 0)
            {
                throw new InvalidOperationException($"A {(call == Reading ? "read" : "write")} of the stream is already in progress.");
            }

            seen = uses;
            uses = Interlocked.CompareExchange(ref _uses, seen | call, seen);
        }
        while (uses != seen);
    }

    private void End(int call)
    {
        if (Interlocked.And(ref _uses, ~call) == (Disposed | call))
        {
            _isUnused.SetResult();
        }
    }

    private bool TryRead(out ReadResult result)
    {
        if (_input.TryRead(out result))
        {
            return true;
        }

        ReadResult ended = default;
        bool hasEnded = connection.HasEndToCome && SpinWait.SpinUntil(() => _input.TryRead(out ended), s_endTime);
        result = ended;
        return hasEnded;
    }

    private bool HasUnreadData()
    {
        try
        {
            return _input.TryRead(out ReadResult result) && !result.Buffer.IsEmpty;
        }
        catch (Exception failure) when (failure is IOException or OperationCanceledException)
        {
            return false; // The connection has failed.
        }
    }

    private int Take(in ReadOnlySequence<byte> data, Memory<byte> buffer)
    {
        int length = (int)Math.Min(data.Length, buffer.Length);
        ReadOnlySequence<byte> taken = data.Slice(0, length);
        taken.CopyTo(buffer.Span);
        _input.AdvanceTo(taken.End); // What is left counts as unexamined, so the next read ends at once.
        return length;
    }

    private static IOException Ended() => new("The connection has ended.", new SocketException((int)SocketError.OperationAborted));
}
