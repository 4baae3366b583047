using System.IO.Pipelines;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Transport.ZeroCopy;

/// <summary>
/// A connection of this transport, for zero-copy writes. It is visible through everything that lies over the
/// connection, TLS and HTTP/2 included: <see cref="ZeroCopyWriter"/> decides whether such writes can work.
/// Application's thread.
/// </summary>
internal interface IZeroCopyFeature
{
    /// <summary>The connection's own pipe. Another pipe in its place means that something lies in between.</summary>
    IDuplexPipe Pipe { get; }

    /// <summary>
    /// Whether TCP paces the connection (BBR); file-backed memory is then better sent as memory than by sendfile(2).
    /// </summary>
    bool IsPaced { get; }

    /// <summary>Adds bytes to what a writer over the connection writes, without a copy.</summary>
    /// <param name="writer">A writer that passes calls through to the connection's own.</param>
    /// <param name="source">1 to <see cref="ZeroCopyOffer.MaxLength"/> bytes.</param>
    /// <returns>False if the writer did not pass the calls through; nothing was written then.</returns>
    /// <exception cref="ObjectDisposedException">The file is closed.</exception>
    bool TryWrite(PipeWriter writer, in ZeroCopySource source);

    /// <summary>Flushes by a writer over the connection, without waiting for space.</summary>
    /// <param name="writer">A writer that passes calls through to the connection's own.</param>
    /// <param name="cancellationToken">The flush's token.</param>
    /// <param name="mustWait">Whether the flush has ended and would have waited.</param>
    ValueTask<FlushResult> FlushWithoutWait(PipeWriter writer, CancellationToken cancellationToken, out bool mustWait);

    /// <summary>
    /// Begins a wait for space that continues where handlers run and lasts two seconds at most. False if there cannot
    /// be one: another is under way, or Kestrel has no heartbeat to end it.
    /// </summary>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <param name="wait">True if there is space. The caller calls <see cref="EndWait"/> when it has read it.</param>
    bool TryBeginWait(CancellationToken cancellationToken, out ValueTask<bool> wait);

    /// <summary>The result of the wait was read; another may begin.</summary>
    void EndWait();

    /// <summary>Resets the connection.</summary>
    void Abort(ConnectionAbortedException abortReason);
}
