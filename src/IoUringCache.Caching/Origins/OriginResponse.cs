using IoUringCache.Caching.Http;
using IoUringCache.Caching.Storage;
using IoUringCache.Transport.ZeroCopy;

namespace IoUringCache.Caching.Origins;

/// <summary>An origin's response whose headers have come and are sound. One reader at a time; disposing gives up what was not read.</summary>
/// <param name="head">As it came, end-to-end fields only.</param>
/// <param name="receipt">When.</param>
internal abstract class OriginResponse(ResponseHead head, Receipt receipt) : IResponseSource
{
    public ResponseHead Head { get; } = head;

    public Receipt Receipt { get; } = receipt;

    /// <summary>Whose answer it is; <see langword="null"/> where the origin has no addresses.</summary>
    public virtual OriginReplica? Replica => null;

    /// <inheritdoc/>
    public SharingVerdict Judge(FreshnessPolicy policy) => SharingRules.Judge(Head, Receipt, policy);

    /// <summary>Whether something has come, so that a read will hardly wait.</summary>
    public virtual bool HasBytes => false;

    /// <summary>Whether the origin has taken up the protocol that was asked for: its connection is read and written from now on.</summary>
    public bool IsUpgraded => Head.StatusCode == StatusCodes.Status101SwitchingProtocols;

    /// <summary>Sends bytes of the new protocol; beside a read.</summary>
    /// <exception cref="OriginException">The connection has ended.</exception>
    public virtual ValueTask WriteAsync(ReadOnlyMemory<byte> bytes, CancellationToken cancellationToken) => throw new NotSupportedException();

    /// <summary>Ends the new protocol: what was sent arrives before the end of the connection. The reader has ended.</summary>
    public virtual void EndInOrder() => throw new NotSupportedException();

    /// <summary>Reads what has come, at least one byte; 0 at the valid end of the body.</summary>
    /// <exception cref="OriginException">Short body, bad framing, reset, nothing came in time, or the whole takes too long.</exception>
    public abstract ValueTask<int> ReadAsync(Memory<byte> memory, CancellationToken cancellationToken);

    /// <summary>Receives bytes of a large body into a pipe.</summary>
    /// <returns>Bytes, or 0 where the next ones are for <see cref="ReadAsync"/>.</returns>
    /// <inheritdoc cref="ReadAsync"/>
    public virtual ValueTask<int> ReceiveAsync(SplicePipe pipe, CancellationToken cancellationToken) => new(0);

    /// <summary>Disposes of it with its connection, which serves no other request: nobody knows what the origin meant by it.</summary>
    public virtual void Refuse() => Dispose();

    public abstract void Dispose();
}
