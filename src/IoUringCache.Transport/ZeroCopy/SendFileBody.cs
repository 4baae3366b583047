using System.IO.Pipelines;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.Win32.SafeHandles;

namespace IoUringCache.Transport.ZeroCopy;

/// <summary>
/// A response's body as it is, but for files, which leave by sendfile(2) where they can. One thread at a time; lives as long as the request.
/// </summary>
internal sealed class SendFileBody(HttpContext context, IHttpResponseBodyFeature inner) : IHttpResponseBodyFeature, IResponseBodyWrapper
{
    public IHttpResponseBodyFeature Inner => inner;

    public Stream Stream => inner.Stream;

    public PipeWriter Writer => inner.Writer;

    public void DisableBuffering() => inner.DisableBuffering();

    public Task StartAsync(CancellationToken cancellationToken = default) => inner.StartAsync(cancellationToken);

    public Task CompleteAsync() => inner.CompleteAsync();

    /// <inheritdoc/>
    public async Task SendFileAsync(string path, long offset, long? count, CancellationToken cancellationToken = default)
    {
        // Without a length the server frames what it is given, so nothing can be lent.
        if (context.Response.ContentLength is null)
        {
            await inner.SendFileAsync(path, offset, count, cancellationToken);
            return;
        }

        // Opened, and its length looked at, before the response starts: what is wrong with it can still become another answer.
        using SafeFileHandle file = File.OpenHandle(path, share: FileShare.ReadWrite | FileShare.Delete);
        long length = RandomAccess.GetLength(file);
        ArgumentOutOfRangeException.ThrowIfNegative(offset);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(offset, length);
        if (count is { } asked)
        {
            ArgumentOutOfRangeException.ThrowIfNegative(asked, nameof(count));
            ArgumentOutOfRangeException.ThrowIfGreaterThan(asked, length - offset, nameof(count));
        }

        ZeroCopyWriter writer = await context.Response.StartZeroCopyAsync(cancellationToken);
        await writer.WriteFileAsync(file, offset, count ?? (length - offset), cancellationToken);
    }
}
