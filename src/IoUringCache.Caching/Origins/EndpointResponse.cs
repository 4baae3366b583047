using System.Buffers;
using System.IO.Pipelines;
using IoUringCache.Caching.Http;

namespace IoUringCache.Caching.Origins;

/// <summary>What an end point of this process has answered. One reader at a time; disposing tells the end point that nobody wants the rest.</summary>
/// <param name="exchange">With the end point.</param>
/// <param name="head">As it started.</param>
/// <param name="receipt">When.</param>
internal sealed class EndpointResponse(EndpointExchange exchange, ResponseHead head, Receipt receipt) : OriginResponse(head, receipt)
{
    private bool _isWhole;
    private long _length;

    /// <inheritdoc/>
    public override async ValueTask<int> ReadAsync(Memory<byte> memory, CancellationToken cancellationToken)
    {
        ReadResult result = await exchange.Reader.ReadAsync(cancellationToken);
        if (result.Buffer.IsEmpty || exchange.Failure is not null)
        {
            // Empty: the end point has returned, or has failed.
            exchange.Reader.AdvanceTo(result.Buffer.End);
            _isWhole = exchange.Failure is null;
            return exchange.Failure is not { } failure ? 0 : throw OriginException.EndpointFailed(failure);
        }

        ReadOnlySequence<byte> taken = result.Buffer.Slice(0, Math.Min(result.Buffer.Length, memory.Length));
        int count = (int)taken.Length;
        taken.CopyTo(memory.Span);
        exchange.Reader.AdvanceTo(taken.End);
        _length += count;
        _isWhole = _length == Head.ContentLength;
        return count;
    }

    public override void Dispose() => exchange.Leave(_isWhole);
}
