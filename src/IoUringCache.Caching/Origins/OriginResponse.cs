using IoUringCache.Caching.Http;

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

    /// <summary>Reads what has come, at least one byte; 0 at the valid end of the body.</summary>
    /// <exception cref="OriginException">Short body, bad framing, reset, nothing came in time, or the whole takes too long.</exception>
    public abstract ValueTask<int> ReadAsync(Memory<byte> memory, CancellationToken cancellationToken);

    /// <summary>Disposes of it with its connection, which serves no other request: nobody knows what the origin meant by it.</summary>
    public virtual void Refuse() => Dispose();

    public abstract void Dispose();
}
