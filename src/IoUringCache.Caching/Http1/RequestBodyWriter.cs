using System.Buffers;
using System.Buffers.Text;
using System.IO.Pipelines;

namespace IoUringCache.Caching.Http1;

/// <summary>
/// Writes the body of a request to a connection, in chunks where its length is not known, otherwise exactly as many bytes as were told: what is
/// over would be the next request. One body's.
/// </summary>
/// <param name="output">Of the connection.</param>
/// <param name="length">Bytes of the body; <see langword="null"/> if each piece is a chunk.</param>
internal sealed class RequestBodyWriter(PipeWriter output, long? length) : IBodyTarget
{
    private const int SizeBytes = 10; // Eight digits and the line's end.

    private readonly bool _isChunked = length is null;
    private long _left = length ?? long.MaxValue;

    /// <summary>Whether the peer has taken all so far.</summary>
    public bool IsTaken { get; private set; } = true;

    /// <inheritdoc/>
    /// <exception cref="InvalidDataException">It is longer than was told.</exception>
    public async ValueTask<bool> WriteAsync(ReadOnlySequence<byte> piece)
    {
        foreach (ReadOnlyMemory<byte> part in piece)
        {
            if (part.IsEmpty)
            {
                continue;
            }

            _left -= part.Length;
            if (_left < 0)
            {
                throw new InvalidDataException("the body is longer than was told");
            }

            if (_isChunked)
            {
                WriteSize(part.Length);
            }

            output.Write(part.Span);
            if (_isChunked)
            {
                output.Write("\r\n"u8);
            }

            if (!await FlushAsync())
            {
                return false;
            }
        }

        return true;
    }

    /// <summary>All has been written.</summary>
    /// <exception cref="InvalidDataException">It is shorter than was told.</exception>
    public async ValueTask EndAsync()
    {
        if (!_isChunked && IsTaken && _left > 0)
        {
            throw new InvalidDataException("the body is shorter than was told");
        }

        if (_isChunked && IsTaken)
        {
            output.Write("0\r\n\r\n"u8);
            await FlushAsync();
        }
    }

    /// <summary>A failed send is no failure of the exchange: the answer may have been sent before.</summary>
    private async ValueTask<bool> FlushAsync()
    {
        try
        {
            FlushResult flush;
            do
            {
                flush = await output.FlushAsync();
            }
            while (flush is { IsCanceled: true, IsCompleted: false }); // An interrupt is for who waits for the answer, and makes no room.

            IsTaken &= !flush.IsCompleted;
        }
        catch (Exception failure) when (failure is IOException or OperationCanceledException or InvalidOperationException)
        {
            IsTaken = false;
        }

        return IsTaken;
    }

    private void WriteSize(int size)
    {
        Span<byte> line = output.GetSpan(SizeBytes);
        Utf8Formatter.TryFormat(size, line, out int length, 'x');
        "\r\n"u8.CopyTo(line[length..]);
        output.Advance(length + 2);
    }
}
