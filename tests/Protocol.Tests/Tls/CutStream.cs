namespace Protocol.Tests.Tls;

/// <summary>
/// Between a client's TLS and its socket: passes everything on until it is told how many more bytes to let through, and swallows the
/// rest. For one test.
/// </summary>
internal sealed class CutStream(Stream inner) : Stream
{
    private long _left = long.MaxValue;

    public override bool CanRead => true;

    public override bool CanSeek => false;

    public override bool CanWrite => true;

    public override long Length => throw new NotSupportedException();

    public override long Position
    {
        get => throw new NotSupportedException();
        set => throw new NotSupportedException();
    }

    internal void CutAfter(int bytes) => _left = bytes;

    public override ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken = default) =>
        inner.ReadAsync(buffer, cancellationToken);

    public override ValueTask WriteAsync(ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default)
    {
        int count = (int)Math.Min(_left, buffer.Length);
        _left -= count;
        return inner.WriteAsync(buffer[..count], cancellationToken);
    }

    public override int Read(byte[] buffer, int offset, int count) => inner.Read(buffer, offset, count);

    public override void Write(byte[] buffer, int offset, int count)
    {
        int passed = (int)Math.Min(_left, count);
        _left -= passed;
        inner.Write(buffer, offset, passed);
    }

    public override void Flush() => inner.Flush();

    public override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException();

    public override void SetLength(long value) => throw new NotSupportedException();
}
