using IoUringCache.Caching.Disk;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Load;
using IoUringCache.Caching.Origins;
using IoUringCache.Caching.Storage;

namespace IoUringCache.Caching.Filling;

/// <summary>
/// The plain form of what a fetch wants compressed, fresh in memory or on the disk, as a response without a request at the origin. It has the age, the
/// lifetime and the purges of that object. One reader, the fill, which disposes of it.
/// </summary>
internal sealed class StoredPlain : IResponseSource
{
    private readonly SharingVerdict _verdict;
    private readonly CachedObject? _object;
    private readonly ObjectReader? _reader;
    private readonly DiskObject? _below;

    /// <summary>Of the disk: where a piece is read, and what of it has not been taken.</summary>
    private readonly byte[] _piece = [];
    private ReadOnlyMemory<byte> _rest;

    private StoredPlain(CachedObject stored)
    {
        (_object, _verdict, Head, Stamp, ReceivedAt) = (stored, stored.Verdict, stored.Head, stored.Stamp, stored.ReceivedAt);
        _reader = new(stored);
    }

    private StoredPlain(DiskObject below, FreshnessPolicy policy)
    {
        (_below, _verdict, Head, Stamp, ReceivedAt) = (below, below.Judge(policy), below.Head, below.Stamp, below.Copy.ReceivedAt);
        _piece = GC.AllocateUninitializedArray<byte>(DiskLayout.PieceBytes, pinned: true);
    }

    public ResponseHead Head { get; }

    /// <summary>Purges since the plain form was asked for concern what is made of it.</summary>
    public PurgeStamp? Stamp { get; }

    public long? ReceivedAt { get; }

    /// <summary>
    /// Finds it where the request is one for a compressed form. <see langword="null"/> where that is not so, where nothing fresh is there, where the
    /// origin has forms of its own, and where what is stored of the compressed form came later: clients would see an earlier version again.
    /// </summary>
    /// <param name="stale">The compressed form as it is stored, if it is.</param>
    public static async ValueTask<StoredPlain?> FindAsync(OriginRequest request, CachedObject? stale, FillServices services)
    {
        if (request.Address.Policy.Compression.Choose(request.Fields) == ContentCoding.Identity)
        {
            return null;
        }

        List<HeaderField> plain = [.. request.Fields.Where(static field => field.Name != CodingChoice.FieldName)];
        if (services.Store.FindAll(request.Key).FirstOrDefault(entry => IsOfUse(entry.Head)
            && entry is { IsFresh: true, Verdict.CanShare: true }
            && entry.VariantKey == entry.Verdict.Vary.KeyOf(plain)) is { } stored)
        {
            return stale is null || stored.IsLaterThan(stale) ? new(stored) : null;
        }

        if (stale is not null || services.Disk is not { } disk || await disk.FindAsync(request.Key, vary => vary.KeyOf(plain)) is not { } below)
        {
            return null;
        }

        if (below.IsFresh && IsOfUse(below.Head))
        {
            return new(below, request.Address.Policy.Freshness);
        }

        below.Dispose();
        return null;

        bool IsOfUse(ResponseHead head) =>
            CodingChoice.ListOf(head) is not null && !CodingChoice.IsOfOriginToo(head) && CompressedBody.Covers(head, request, services);
    }

    public SharingVerdict Judge(FreshnessPolicy policy) => _object is null ? _verdict : _verdict with { InitialAge = _object.Age };

    public async ValueTask<int> ReadAsync(Memory<byte> memory, CancellationToken cancellationToken)
    {
        ReadOnlyMemory<byte> bytes;
        if (_below is not null)
        {
            if (_rest.IsEmpty)
            {
                _rest = _piece.AsMemory(0, await _below.ReadAsync(_piece, cancellationToken));
            }

            bytes = _rest[..Math.Min(_rest.Length, memory.Length)];
            _rest = _rest[bytes.Length..];
        }
        else
        {
            // The store has an object a moment before its last byte is there.
            while (!_reader!.TryRead(memory.Length, out bytes))
            {
                if (!await _reader.WaitToReadAsync(ThreadPoolScheduler.Instance, cancellationToken))
                {
                    return 0;
                }
            }
        }

        bytes.CopyTo(memory);
        return bytes.Length;
    }

    public void Dispose()
    {
        _reader?.Dispose();
        _below?.Dispose();
    }
}
