using IoUringCache.Caching.Origins;
using IoUringCache.Transport.ZeroCopy;

namespace IoUringCache.Caching.Serving;

/// <summary>
/// Adds an origin's body to the response of the one client that it is for, piece by piece: a large one stays in the
/// kernel while large pieces come. One user at a time, on any thread; owned by the request.
/// <code>
///            a piece of less than 32 KiB came through it
///   Pipe -------------------------------------------------> Memory
///    ^                                                        |
///    +--------------------------------------------------------+
///            a piece of 32 KiB or more, and there is a pipe
/// </code>
/// No pipe is made for a body below 256 KiB or of unknown length, nor where the response is copied anyway.
/// </summary>
internal sealed class BodyRelay : IDisposable
{
    private const int MemoryBytes = 64 * 1024;

    /// <summary>Of a shorter body most has come before a pipe is there.</summary>
    private const int MinPipedBody = 256 * 1024;

    /// <summary>For a shorter piece the system calls cost more than the copy.</summary>
    private const int MinPipedPiece = 32 * 1024;

    private readonly OriginResponse _response;
    private readonly ZeroCopyWriter _output;
    private readonly SplicePipe? _pipe;
    private readonly int _memoryBytes;
    private bool _isPiped;

    /// <param name="response">With the body.</param>
    /// <param name="output">The client's response, whose head is written.</param>
    public BodyRelay(OriginResponse response, ZeroCopyWriter output)
    {
        (_response, _output) = (response, output);
        long? length = response.Head.ContentLength;
        _memoryBytes = (int)Math.Clamp(length ?? MemoryBytes, 1, MemoryBytes);
        _isPiped = output.IsZeroCopy && length >= MinPipedBody && SplicePipe.TryCreate(out _pipe);
    }

    /// <summary>Waits for the next piece and adds it; who calls flushes.</summary>
    /// <param name="cancellationToken">The client has gone.</param>
    /// <returns>Bytes; 0 at the valid end.</returns>
    /// <inheritdoc cref="OriginResponse.ReadAsync"/>
    public async ValueTask<int> AddAsync(CancellationToken cancellationToken)
    {
        if (_isPiped && await _response.ReceiveAsync(_pipe!, cancellationToken) is var piped and > 0)
        {
            _output.Write(_pipe!);
            _isPiped = piped >= MinPipedPiece;
            return piped;
        }

        int count = await _response.ReadAsync(_output.GetMemory(_memoryBytes), cancellationToken);
        if (count > 0)
        {
            _output.Advance(count); // A response without a body takes not even nothing.
            _isPiped |= _pipe is not null && count >= MinPipedPiece;
        }

        return count;
    }

    /// <summary>What was added is sent all the same.</summary>
    public void Dispose() => _pipe?.Dispose();
}
