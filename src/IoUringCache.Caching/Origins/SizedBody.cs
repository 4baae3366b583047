using IoUringCache.Caching.Http1;

namespace IoUringCache.Caching.Origins;

/// <summary>
/// A body whose length is known, and which is an error if it has another. The last bytes are handed on with its end, because without that the
/// message is not complete (RFC 9113 8.1). One reader at a time; does not own what it reads.
/// </summary>
/// <param name="inner">Where the bytes come from.</param>
/// <param name="length">How many there must be, 0 or more.</param>
internal sealed class SizedBody(Stream inner, long length) : Stream
{
    private readonly byte[] _end = new byte[1];
    private long _left = length;

    public override bool CanRead => true;

    public override bool CanSeek => false;

    public override bool CanWrite => false;

    public override long Length => throw new NotSupportedException();

    public override long Position
    {
        get => throw new NotSupportedException();
        set => throw new NotSupportedException();
    }

    /// <exception cref="IOException">There are more bytes, or the body has ended with fewer.</exception>
    public override ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken = default)
    {
        ValueTask<int> reading = inner.ReadAsync(buffer, cancellationToken);
        return reading.IsCompletedSuccessfully ? CountAsync(reading.Result, cancellationToken) : WaitAsync(reading, cancellationToken);
    }

    public override int Read(byte[] buffer, int offset, int count) => throw new NotSupportedException("The service does not block.");

    public override void Write(byte[] buffer, int offset, int count) => throw new NotSupportedException();

    public override void Flush()
    {
    }

    public override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException();

    public override void SetLength(long value) => throw new NotSupportedException();

    private async ValueTask<int> WaitAsync(ValueTask<int> reading, CancellationToken cancellationToken) =>
        await CountAsync(await reading, cancellationToken);

    private ValueTask<int> CountAsync(int count, CancellationToken cancellationToken)
    {
        _left -= count;
        return _left < 0 ? throw TooLong()
            : count == 0 ? _left == 0 ? new(0) : throw new IOException($"the body is {_left} bytes shorter than its head says")
            : _left == 0 ? EndAsync(count, cancellationToken)
            : new(count);
    }

    private async ValueTask<int> EndAsync(int lastCount, CancellationToken cancellationToken) =>
        await inner.ReadAsync(_end, cancellationToken) == 0 ? lastCount : throw TooLong();

    private static Http1Exception TooLong() => new(Http1Fault.BadFraming, "the body is longer than its head says");
}
