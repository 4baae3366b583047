using IoUringCache.Caching.Http;
using IoUringCache.Caching.Storage;

namespace IoUringCache.Caching.Disk;

/// <summary>
/// An object on the disk whose header and first piece have been read and checked; the rest is as it is read. One reader; it pins the segment
/// until disposed.
/// </summary>
internal sealed class DiskObject : IResponseSource
{
    private readonly IPieceReader _reader;
    private readonly DiskCopy _copy;
    private readonly DiskRecord _record;
    private readonly Memory<byte> _first;
    private readonly long _bodyOffset;
    private readonly TimeProvider _time;
    private int _piece;

    /// <param name="copy">With a pin.</param>
    public DiskObject(IPieceReader reader, DiskCopy copy, DiskRecord record, Memory<byte> first, long bodyOffset, TimeProvider time)
    {
        (_reader, _copy, _record, _first, _bodyOffset, _time) = (reader, copy, record, first, bodyOffset, time);
        Validators = new(record.Head);
    }

    public ResponseHead Head => _record.Head;

    public string VariantKey => _record.VariantKey;

    public ILowerCopy Copy => _copy;

    /// <summary>Of the response as it came from the origin: purges since then concern it.</summary>
    public PurgeStamp Stamp => _copy.Stamp;

    PurgeStamp? IResponseSource.Stamp => Stamp;

    long? IResponseSource.ReceivedAt => _copy.ReceivedAt;

    public Validators Validators { get; }

    public bool IsFresh => !Stamp.IsInDoubt && TimeToLive > TimeSpan.Zero;

    /// <summary>Fresh, or allowed to be stale while it is being validated (RFC 5861 3): good without asking the origin first.</summary>
    public bool MayPrecedeValidation => !Stamp.IsInDoubt && TimeToLive + _record.StaleWhileRevalidate > TimeSpan.Zero;

    /// <summary>May be served in the place of an error (RFC 5861 4), unless it has been removed or purged.</summary>
    public bool MayStandIn => _copy.IsThere && !Stamp.IsInDoubt && (MayPrecedeValidation || TimeToLive + _record.StaleIfError > TimeSpan.Zero);

    private DateTime Now => _time.GetUtcNow().UtcDateTime;

    private TimeSpan TimeToLive => _record.Lifetime - _record.AgeAt(Now);

    /// <summary>As it was judged when it came, and aged since.</summary>
    public SharingVerdict Judge(FreshnessPolicy policy) => _record.VerdictAt(Now);

    /// <summary>The origin has something else now, which is not for the store.</summary>
    public void Discard() => _reader.Discard(_copy);

    /// <summary>Reads the next piece, whole and checked, or 0 bytes at the end.</summary>
    /// <param name="pinned">Pinned memory with room for a piece. Nobody may look at it before this has ended well.</param>
    /// <param name="cancellationToken">Not looked at: the kernel has the memory until the read has ended, which a disk sees to.</param>
    /// <exception cref="DiskException">The piece is not what was written; the object is dropped.</exception>
    public async ValueTask<int> ReadAsync(Memory<byte> pinned, CancellationToken cancellationToken)
    {
        int piece = _piece++;
        if (piece == _record.PieceChecksums.Length)
        {
            return 0;
        }

        Memory<byte> target = pinned[..DiskLayout.PieceBytesOf(_record.BodyBytes, piece)];
        if (piece == 0)
        {
            _first.CopyTo(target);
        }
        else
        {
            await _reader.ReadPieceAsync(_copy, _record, _bodyOffset, piece, target);
        }

        return target.Length;
    }

    public void Dispose() => _reader.Release(_copy);
}

/// <summary>How an object on the disk is read. Any thread.</summary>
internal interface IPieceReader
{
    /// <summary>Reads one piece of a body, and checks it.</summary>
    /// <param name="copy">With a pin.</param>
    /// <param name="piece">From 0.</param>
    /// <param name="target">Pinned memory of the piece's length.</param>
    /// <exception cref="DiskException">It is not what was written; the object is dropped.</exception>
    Task ReadPieceAsync(DiskCopy copy, DiskRecord record, long bodyOffset, int piece, Memory<byte> target);

    /// <summary>The object is not what the origin has any more.</summary>
    void Discard(DiskCopy copy);

    /// <summary>Gives the pin back.</summary>
    void Release(DiskCopy copy);
}
