using IoUringCache.Transport.ZeroCopy;

namespace IoUringCache.Caching.Http1;

/// <summary>
/// The body of an answer, and the connection that it comes on. One reader at a time; disposing gives up what was not read. After a 101 the body is what
/// comes by the new protocol, and there is one writer beside the reader.
/// </summary>
internal interface IResponseBody : IDisposable
{
    /// <summary>Whether something has come, so that a read will hardly wait.</summary>
    bool HasBytes { get; }

    /// <summary>Reads what has come, at least one byte; 0 at the valid end.</summary>
    /// <param name="memory">Room for it, not empty.</param>
    /// <param name="patience">How long to wait.</param>
    /// <param name="cancellationToken">The caller gives up.</param>
    /// <exception cref="Http1Exception">It breaks, or nothing comes in time.</exception>
    /// <exception cref="OperationCanceledException">The caller has given up.</exception>
    ValueTask<int> ReadAsync(Memory<byte> memory, TimeSpan patience, CancellationToken cancellationToken);

    /// <summary>Receives bytes of a large body into a pipe.</summary>
    /// <param name="pipe">Gets them.</param>
    /// <returns>Bytes, or 0 where the next ones are for <see cref="ReadAsync"/>.</returns>
    /// <inheritdoc cref="ReadAsync"/>
    ValueTask<int> ReceiveAsync(SplicePipe pipe, TimeSpan patience, CancellationToken cancellationToken) => new(0);

    /// <summary>Sends bytes of the new protocol.</summary>
    /// <exception cref="Http1Exception">The connection has ended.</exception>
    ValueTask WriteAsync(ReadOnlyMemory<byte> bytes, CancellationToken cancellationToken);

    /// <summary>Closes the connection of a new protocol: what was written arrives first. The reader has ended.</summary>
    void CloseInOrder();

    /// <summary>Closes the connection, which serves no other request.</summary>
    void Close();
}
