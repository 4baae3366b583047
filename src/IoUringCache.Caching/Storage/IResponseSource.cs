using IoUringCache.Caching.Http;

namespace IoUringCache.Caching.Storage;

/// <summary>A response whose head is known and whose body is read once, wherever it comes from. One reader at a time.</summary>
internal interface IResponseSource : IDisposable
{
    ResponseHead Head { get; }

    /// <summary>By which purges it is judged, if it was stored before; <see langword="null"/>: by those since the origin was asked.</summary>
    PurgeStamp? Stamp => null;

    /// <summary>When the origin sent it, if it was stored before; <see langword="null"/>: now.</summary>
    long? ReceivedAt => null;

    /// <summary>Who may have it, and for how long.</summary>
    SharingVerdict Judge(FreshnessPolicy policy);

    /// <summary>Reads what there is, at least one byte; 0 at the valid end of the body.</summary>
    /// <exception cref="Exception">The rest will never come; of a type of the source.</exception>
    ValueTask<int> ReadAsync(Memory<byte> memory, CancellationToken cancellationToken);
}
