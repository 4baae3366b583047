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
/// </remarks>
/// <param name="connection">The connection, whose pipe nothing else uses.</param>
/// <param name="time">Measures how long the end may take.</param>
internal sealed class ConnectionStream(IoUringConnectionContext connection, TimeProvider time) : Stream
{
    /// <summary>Bytes of one write to the pipe, so that back-pressure bounds the copy.</summary>
    private const int MaxWrittenBytes = 64 * 1024;

    /// <summary>How long written bytes may take to leave after the end, before the connection is reset.</summary>
    private static readonly TimeSpan s_lingerTime = TimeSpan.FromSeconds(10);

    /// <summary>How long an end that the kernel knows may take to come by the loop: as long as a hand-over of a loop.</summary>
    private static readonly TimeSpan s_endTime = TimeSpan.FromMilliseconds(5);

    private readonly PipeReader _input = connection.Transport.Input;
    private readonly PipeWriter _output = connection.Transport.Output;
    private volatile bool _isReading;
    private volatile bool _isWriting;
    private bool _isDisposed;

    public override bool CanRead => !_isDisposed;

    public override bool CanWrite => !_isDisposed;

    public override bool CanSeek => false;

    public override long Length => throw new NotSupportedException();

    public override long Position
    {
        get => throw new NotSupportedException();
        set => throw new NotSupportedException();
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public override async ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken = default)
    {
        ObjectDisposedException.ThrowIf(_isDisposed, this);
        cancellationToken.ThrowIfCancellationRequested();
        _isReading = true;
        try
        {
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
            _isReading = false;
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
        ObjectDisposedException.ThrowIf(_isDisposed, this);
        _isWriting = true;
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
            _isWriting = false;
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
        if (Interlocked.Exchange(ref _isDisposed, true))
        {
            return;
        }

        if (_isReading)
        {
            _input.CancelPendingRead();
        }

        if (_isWriting || (!_isReading && HasUnreadData()))
        {
            connection.Abort(new ConnectionAbortedException("The stream was disposed before all was read and written."));
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
        catch (Exception failure) when (failure is IOException or OperationCanceledException or InvalidOperationException)
        {
            return false; // The connection has failed, or a read has begun meanwhile.
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
