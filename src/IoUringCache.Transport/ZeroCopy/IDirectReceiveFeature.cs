using System.Diagnostics.CodeAnalysis;
using System.IO.Pipelines;

namespace IoUringCache.Transport.ZeroCopy;

/// <summary>
/// Receives a body into the memory in which it stays. A feature of <c>ConnectionContext.Features</c>, for the code that
/// reads the connection's <c>Transport.Input</c>; other transports do not have it. One reader at a time, on any thread.
/// </summary>
/// <example><code>
/// ReadResult read = context.Features.Get&lt;IDirectReceiveFeature>() is { } direct
///     ? await direct.ReadAsync(memory, expectedBytes)
///     : await context.Transport.Input.ReadAsync();
/// </code></example>
[Experimental("IOURING002", Message = ZeroCopyWriter.ExperimentalMessage)]
public interface IDirectReceiveFeature
{
    /// <summary>
    /// Reads as <see cref="PipeReader.ReadAsync"/> does; what has not come yet may be received into
    /// <paramref name="memory"/>, and the result then lies there. While <paramref name="expected"/> bytes have not
    /// come, nothing is received but by such reads, so a reader that pauses holds its peer back.
    /// </summary>
    /// <param name="memory">
    /// 1 byte or more. It belongs to the connection, and the kernel may write to it, until the read ends; a read that
    /// is cancelled, and a connection that ends, end it when the kernel has given the memory back. Memory that cannot be
    /// pinned is not used: the result has the bytes elsewhere.
    /// </param>
    /// <param name="expected">
    /// Bytes that surely follow, 1 or more: no more than these come into the memory. An ordinary read ends the
    /// expectation.
    /// </param>
    /// <returns>As of an ordinary read: advance past it before the next one.</returns>
    /// <exception cref="InvalidOperationException">A read is in progress, or the reader was completed.</exception>
    ValueTask<ReadResult> ReadAsync(Memory<byte> memory, long expected);

    /// <summary>
    /// Reads as the other overload does; what has not come yet may be received into <paramref name="pipe"/> instead. The
    /// result says nothing of that: <see cref="SplicePipe.Length"/> does, also of a read that was cancelled. What is in
    /// the result as well is behind it, so consume all of a result before such a read.
    /// </summary>
    /// <param name="pipe">
    /// Belongs to the connection until the read ends. Where it takes nothing (it is full, or urgent data comes), the
    /// result has bytes instead.
    /// </param>
    /// <param name="expected">As there.</param>
    /// <inheritdoc cref="ReadAsync(Memory{byte}, long)"/>
    ValueTask<ReadResult> ReadAsync(SplicePipe pipe, long expected);
}
