using System.Buffers;
using System.IO.Compression;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Origins;
using IoUringCache.Caching.Storage;
using IoUringCache.Caching.Telemetry;
using ZstdSharp;
using ZstdSharp.Unsafe;

namespace IoUringCache.Caching.Filling;

/// <summary>
/// A response of the origin, or its stored plain form, in the form of one variant: compressed as it comes, or as it is for clients that want that. What
/// has come is passed on before more is waited for, so a live body stays live. One reader at a time, the fill, which disposes of it and with it of the response.
/// </summary>
internal sealed class CompressedBody : IResponseSource
{
    private const int PieceBytes = 16 * 1024;

    /// <summary>Smaller than gzip and br make it, in the time of gzip.</summary>
    private const int ZstandardLevel = 6;

    /// <summary>2 MiB, of the 8 that every client must be able to hold (RFC 9659).</summary>
    private const int ZstandardWindowLog = 21;

    /// <summary>Nothing, as gzip has it (RFC 1952 2.3): of nothing the framework's stream makes no byte.</summary>
    private static readonly byte[] s_emptyGzip = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0];

    private readonly IResponseSource _source;
    private readonly CacheMetrics _metrics;
    private readonly Stream? _encoder;
    private readonly MemoryStream _encoded = new();
    private readonly byte[]? _piece;
    private bool _isEmpty = true;
    private bool _hasEnded;

    private CompressedBody(IResponseSource source, CompressionRule rule, ContentCoding coding, CacheMetrics metrics)
    {
        (_source, _metrics, Head) = (source, metrics, rule.Encode(source.Head, coding));
        _encoder = coding switch
        {
            ContentCoding.Brotli => new BrotliStream(_encoded, CompressionLevel.Optimal, leaveOpen: true),
            ContentCoding.Gzip => new GZipStream(_encoded, CompressionLevel.Optimal, leaveOpen: true),
            ContentCoding.Zstandard => MakeZstandard(_encoded),
            _ => null,
        };
        _piece = _encoder is null ? null : ArrayPool<byte>.Shared.Rent(PieceBytes);
    }

    public ResponseHead Head { get; }

    public PurgeStamp? Stamp => _source.Stamp;

    public long? ReceivedAt => _source.ReceivedAt;

    /// <summary>The response itself, where its route has nothing to compress in it, or it will not be kept: else the form for the request.</summary>
    public static IResponseSource Of(IResponseSource response, OriginRequest request, FillServices services)
    {
        CompressionRule rule = request.Address.Policy.Compression;
        return response is OriginResponse or StoredPlain && Covers(response.Head, request, services)
            ? new CompressedBody(response, rule, rule.Choose(request.Fields), services.Metrics)
            : response;
    }

    /// <summary>Whether a response has forms.</summary>
    public static bool Covers(ResponseHead head, OriginRequest request, FillServices services) =>
        request.Address.Policy.Compression.Covers(head) && SliceMark.Of(head) is null && !(head.ContentLength > services.Options.MaxObjectBytes);

    public SharingVerdict Judge(FreshnessPolicy policy) => _source.Judge(policy) with { Vary = VaryRule.Of(Head) ?? VaryRule.None };

    public async ValueTask<int> ReadAsync(Memory<byte> memory, CancellationToken cancellationToken)
    {
        if (_encoder is null)
        {
            return await ReceiveAsync(memory, cancellationToken);
        }

        while (_encoded.Position == _encoded.Length && !_hasEnded)
        {
            int count = await ReceiveAsync(_piece, cancellationToken);

            // Away from the event loop, which has others to serve in that millisecond.
            await Task.CompletedTask.ConfigureAwait(ConfigureAwaitOptions.ForceYielding);
            Encode(count);
        }

        return _encoded.Read(memory.Span);
    }

    public void Dispose()
    {
        _encoder?.Dispose();
        if (_piece is not null)
        {
            ArrayPool<byte>.Shared.Return(_piece);
        }

        _source.Dispose();
    }

    private async ValueTask<int> ReceiveAsync(Memory<byte> memory, CancellationToken cancellationToken)
    {
        int count = await _source.ReadAsync(memory, cancellationToken);
        _metrics.ReceivedFromOrigin(_source is OriginResponse ? count : 0);
        return count;
    }

    private static CompressionStream MakeZstandard(Stream encoded)
    {
        CompressionStream encoder = new(encoded, ZstandardLevel, PieceBytes, leaveOpen: true);
        encoder.SetParameter(ZSTD_cParameter.ZSTD_c_windowLog, ZstandardWindowLog);
        return encoder;
    }

    private void Encode(int count)
    {
        _encoded.SetLength(0);
        _encoder!.Write(_piece!, 0, count);
        if (count == 0)
        {
            _hasEnded = true;
            _encoder.Dispose();
            if (_isEmpty && _encoder is GZipStream)
            {
                _encoded.SetLength(0);
                _encoded.Write(s_emptyGzip);
            }
        }
        else if (_source is OriginResponse { HasBytes: false })
        {
            _encoder.Flush();
        }

        _isEmpty = false;
        _encoded.Position = 0;
    }
}
