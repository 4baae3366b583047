using System.Net;
using System.Net.Http.Headers;
using IoUringCache.Transport.Tests.Support;

namespace Protocol.Tests.Streaming;

/// <summary>A request's body that a test writes while it reads the answer. For one request.</summary>
internal sealed class DuplexContent : HttpContent
{
    private readonly TaskCompletionSource<Stream> _stream = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly TaskCompletionSource _finished = new(TaskCreationOptions.RunContinuationsAsynchronously);

    internal DuplexContent(string mediaType)
    {
        Headers.ContentType = new MediaTypeHeaderValue(mediaType);
    }

    /// <summary>Where to write, once the request is on its way.</summary>
    internal Task<Stream> StreamAsync() => _stream.Task.InTime();

    /// <summary>Ends the body.</summary>
    internal void Finish() => _finished.SetResult();

    protected override Task SerializeToStreamAsync(Stream stream, TransportContext? context) =>
        SerializeToStreamAsync(stream, context, CancellationToken.None);

    protected override async Task SerializeToStreamAsync(Stream stream, TransportContext? context, CancellationToken cancellationToken)
    {
        // The head of the request leaves now, before there is any body.
        await stream.FlushAsync(cancellationToken);
        _stream.SetResult(stream);
        await _finished.Task.WaitAsync(cancellationToken);
    }

    protected override bool TryComputeLength(out long length)
    {
        length = 0;
        return false;
    }
}
