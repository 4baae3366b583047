using System.IO.Pipelines;

namespace IoUringCache.Transport.ZeroCopy;

/// <summary>
/// A connection of this transport, for whoever wants to lend to it. Seen through everything that lies over the connection, TLS
/// and HTTP/2 included, so whether lending can work is another question (<see cref="ZeroCopyWriter"/>).
/// </summary>
internal interface IZeroCopyFeature
{
    /// <summary>The connection's own pipe; who finds another one in its place has something in between.</summary>
    IDuplexPipe Pipe { get; }

    /// <summary>
    /// Whether TCP paces the connection (BBR); file-backed memory is then better sent as memory than by sendfile(2).
    /// </summary>
    bool IsPaced { get; }

    /// <summary>
    /// Puts what is lent into what a writer over the connection writes, without a copy. The writer's own thread.
    /// </summary>
    /// <param name="writer">A writer that hands calls through to the connection's own.</param>
    /// <param name="loan">1 to <see cref="ZeroCopyOffer.MaxLength"/> bytes.</param>
    /// <returns>False if the writer did not hand the calls through; nothing was written then.</returns>
    /// <exception cref="ObjectDisposedException">The file that is lent is closed.</exception>
    bool TryWrite(PipeWriter writer, in ZeroCopySource loan);

    /// <summary>
    /// Flushes by a writer over the connection, and where that would have to wait for room, waits so that who awaits it goes on where handlers
    /// run. The writer's own thread.
    /// </summary>
    /// <param name="writer">A writer that hands calls through to the connection's own.</param>
    /// <param name="cancellationToken">That of the flush.</param>
    /// <returns>What the flush returns.</returns>
    ValueTask<FlushResult> FlushAsync(PipeWriter writer, CancellationToken cancellationToken);
}
