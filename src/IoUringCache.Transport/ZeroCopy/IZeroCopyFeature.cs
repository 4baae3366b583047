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

    /// <summary>Bytes flushed and not yet taken by the kernel.</summary>
    long UnsentBytes { get; }

    /// <summary>Whether a flush since <see cref="SkipWait"/> was set left its wait to the caller.</summary>
    bool HasSkippedWait { get; }

    /// <summary>Offers zero-copy bytes to the connection's writer, for its next call.</summary>
    void Offer(in ZeroCopySource source);

    /// <summary>
    /// Writes and flushes zero-copy bytes past the writers that wrap the connection's own. False, and nothing is written,
    /// if bytes of theirs are not flushed or a flush waits.
    /// </summary>
    /// <param name="source">1 to <see cref="ZeroCopyOffer.MaxLength"/> bytes.</param>
    /// <param name="result">What the flush returns.</param>
    /// <param name="mustWait">Whether the caller has to wait for space.</param>
    bool TryFlush(in ZeroCopySource source, out FlushResult result, out bool mustWait);

    /// <summary>Ends the offer, if there is one.</summary>
    void WithdrawOffer();

    /// <summary>Says whether flushes leave their wait for space to the caller.</summary>
    void SkipWait(bool value);

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
