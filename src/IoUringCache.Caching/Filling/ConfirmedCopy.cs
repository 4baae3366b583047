using IoUringCache.Caching.Disk;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Origins;
using IoUringCache.Caching.Storage;

namespace IoUringCache.Caching.Filling;

/// <summary>
/// A stale object of the disk that the origin has confirmed: the head of now, the bytes of then. One reader, as of what is on the disk.
/// </summary>
/// <param name="stale">As it was stored; disposed with this.</param>
/// <param name="answer">The 304; its head is copied.</param>
internal sealed class ConfirmedCopy(DiskObject stale, OriginResponse answer) : IResponseSource
{
    private readonly Receipt _receipt = answer.Receipt;

    public ResponseHead Head { get; } = HeaderRules.Update(stale.Head, answer.Head);

    public SharingVerdict Judge(FreshnessPolicy policy) => SharingRules.Judge(Head, _receipt, policy);

    public ValueTask<int> ReadAsync(Memory<byte> memory, CancellationToken cancellationToken) => stale.ReadAsync(memory, cancellationToken);

    public void Dispose() => stale.Dispose();
}
