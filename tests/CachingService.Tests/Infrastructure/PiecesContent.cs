using System.Net;
using System.Text;

namespace CachingService.Tests.Infrastructure;

/// <summary>A body that is flushed after each piece, with or without its length.</summary>
internal sealed class PiecesContent(string[] pieces, bool isLengthKnown) : HttpContent
{
    protected override async Task SerializeToStreamAsync(Stream stream, TransportContext? context)
    {
        foreach (string piece in pieces)
        {
            await stream.WriteAsync(Encoding.Latin1.GetBytes(piece)).AsTask().WaitAsync(Patience.Limit);
            await stream.FlushAsync().WaitAsync(Patience.Limit);
        }
    }

    protected override bool TryComputeLength(out long length)
    {
        length = pieces.Sum(piece => piece.Length);
        return isLengthKnown;
    }
}
