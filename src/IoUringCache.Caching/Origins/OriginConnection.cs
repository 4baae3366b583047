using System.Runtime.CompilerServices;
using IoUringCache.Caching.Http1;

namespace IoUringCache.Caching.Origins;

/// <summary>
/// A connection of the base library's HTTP stack on which the end of the stream in the place of an answer is a failure. The HTTP stack would take it for an
/// idle connection that has just been closed and send the request up to three times more, unseen by those who count attempts. After a
/// write that failed it can still be read, because an origin may answer and close before it has taken the whole request (RFC 9112 9.6).
/// Used by one request at a time; owned by the connection pool.
/// </summary>
/// <param name="inner">The connection, TLS included.</param>
internal sealed class OriginConnection(Stream inner) : Stream
{
    private static readonly AsyncLocal<Trace?> s_trace = new();

    private bool _hasAnswer;
    private bool _isRetired;
    private bool _isClosedToWrites;

    public override bool CanRead => inner.CanRead;

    public override bool CanSeek => false;

    public override bool CanWrite => inner.CanWrite;

    public override long Length => throw new NotSupportedException();

    public override long Position
    {
        get => throw new NotSupportedException();
        set => throw new NotSupportedException();
    }

    /// <summary>Begins to note on which connection the caller's requests go out, which the HTTP stack does not tell.</summary>
    public static Trace BeginTrace() => s_trace.Value = new();

    /// <summary>
    /// Closes the connection before the HTTP stack could use it again: after a message with doubtful framing nobody knows where the next
    /// one begins (RFC 9112 11.2).
    /// </summary>
    public void Retire()
    {
        _isRetired = true;
        inner.Dispose();
    }

    /// <exception cref="Http1Exception">The stream has ended since the last write without a byte.</exception>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public override async ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken = default)
    {
        if (_isRetired)
        {
            return 0;
        }

        int count = await inner.ReadAsync(buffer, cancellationToken);
        if (count > 0)
        {
            _hasAnswer = true;
        }
        else if (!_hasAnswer && !buffer.IsEmpty)
        {
            // A read into nothing only waits for data, and ends with 0 when there is some.
            throw new Http1Exception(Http1Fault.NoAnswer, "the connection was closed without an answer");
        }

        return count;
    }

    /// <summary>The first failure is told; later writes go nowhere. The pool finds the connection at its end and drops it.</summary>
    public override async ValueTask WriteAsync(ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default)
    {
        if (_isClosedToWrites)
        {
            return;
        }

        _hasAnswer = false;
        s_trace.Value?.Connection = this;
        try
        {
            await inner.WriteAsync(buffer, cancellationToken);
        }
        catch (IOException)
        {
            _isClosedToWrites = true;
            throw;
        }
    }

    public override Task<int> ReadAsync(byte[] buffer, int offset, int count, CancellationToken cancellationToken) =>
        ReadAsync(buffer.AsMemory(offset, count), cancellationToken).AsTask();

    public override Task WriteAsync(byte[] buffer, int offset, int count, CancellationToken cancellationToken) =>
        WriteAsync(buffer.AsMemory(offset, count), cancellationToken).AsTask();

    public override Task FlushAsync(CancellationToken cancellationToken) => inner.FlushAsync(cancellationToken);

    public override void Flush() => inner.Flush();

    public override int Read(byte[] buffer, int offset, int count) => throw new NotSupportedException("The service does not block.");

    public override void Write(byte[] buffer, int offset, int count) => throw new NotSupportedException("The service does not block.");

    public override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException();

    public override void SetLength(long value) => throw new NotSupportedException();

    public override ValueTask DisposeAsync() => inner.DisposeAsync();

    protected override void Dispose(bool disposing)
    {
        if (disposing)
        {
            inner.Dispose();
        }

        base.Dispose(disposing);
    }

    /// <summary>Where a request went. Used by one request.</summary>
    internal sealed class Trace
    {
        /// <summary><see langword="null"/> until the request has gone out.</summary>
        public OriginConnection? Connection { get; set; }
    }
}
