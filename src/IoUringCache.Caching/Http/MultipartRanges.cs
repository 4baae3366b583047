using System.Text;
using Microsoft.Net.Http.Headers;

namespace IoUringCache.Caching.Http;

/// <summary>
/// The envelope of several ranges in one body (<c>multipart/byteranges</c>, RFC 9110 14.6): what stands before, between and after the
/// ranges. Immutable; for one response.
/// </summary>
internal sealed class MultipartRanges
{
    private readonly byte[][] _partHeads;

    /// <param name="ranges">In the order of the parts.</param>
    /// <param name="completeLength">Length of the whole body in bytes.</param>
    /// <param name="contentType">Of the whole body, for each part; empty where the origin told none.</param>
    /// <param name="boundary">Does not occur in the body: long and random, up to 70 characters.</param>
    public MultipartRanges(IReadOnlyList<ByteRange> ranges, long completeLength, string contentType, string boundary)
    {
        string type = contentType.Length == 0 ? "" : $"{HeaderNames.ContentType}: {contentType}\r\n";
        _partHeads =
        [
            .. ranges.Select((range, index) => Encoding.Latin1.GetBytes(
                $"{(index == 0 ? "" : "\r\n")}--{boundary}\r\n{type}{HeaderNames.ContentRange}: {range.ToContentRange(completeLength)}\r\n\r\n")),
        ];
        End = Encoding.Latin1.GetBytes($"\r\n--{boundary}--\r\n");
        ContentType = $"multipart/byteranges; boundary={boundary}";
        ContentLength = ranges.Sum(range => range.Length) + _partHeads.Sum(head => head.Length) + End.Length;
    }

    /// <summary>Type of the whole response.</summary>
    public string ContentType { get; }

    /// <summary>Length of the whole response in bytes, envelope included.</summary>
    public long ContentLength { get; }

    /// <summary>What follows the last range.</summary>
    public ReadOnlyMemory<byte> End { get; }

    /// <summary>What stands before a range.</summary>
    public ReadOnlyMemory<byte> HeadOf(int index) => _partHeads[index];
}
