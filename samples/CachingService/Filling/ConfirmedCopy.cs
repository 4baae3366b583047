using CachingService.Disk;
using CachingService.Http;
using CachingService.Options;
using CachingService.Origins;

namespace CachingService.Filling;

/// <summary>
/// A stale object of the disk that the origin has confirmed: the head of now, the bytes of then. One reader, as of what is on the disk.
/// </summary>
/// <param name="stale">As it was stored; disposed with this.</param>
/// <param name="answer">The 304; its head is copied.</param>
internal sealed class ConfirmedCopy(DiskObject stale, OriginResponse answer) : IResponseSource
{
    private readonly Receipt _receipt = answer.Receipt;

    public ResponseHead Head { get; } = HeaderRules.Update(stale.Head, answer.Head);

    public SharingVerdict Judge(CacheOptions options) => SharingRules.Judge(Head, _receipt, options);

    public ValueTask<int> ReadAsync(Memory<byte> memory, CancellationToken cancellationToken) => stale.ReadAsync(memory, cancellationToken);

    public void Dispose() => stale.Dispose();
}
