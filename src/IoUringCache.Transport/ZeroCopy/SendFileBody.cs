using System.IO.Pipelines;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.Win32.SafeHandles;

namespace IoUringCache.Transport.ZeroCopy;

/// <summary>
/// A response's body that sends files by sendfile(2) where it can. One thread at a time; owned by the request.
/// </summary>
internal sealed class SendFileBody(HttpContext context, IHttpResponseBodyFeature inner) : IHttpResponseBodyFeature
{
    /// <summary>The body below, which gets everything that is written.</summary>
    internal IHttpResponseBodyFeature Inner => inner;

    public Stream Stream => inner.Stream;

    public PipeWriter Writer => inner.Writer;

    public void DisableBuffering() => inner.DisableBuffering();

    public Task StartAsync(CancellationToken cancellationToken = default) => inner.StartAsync(cancellationToken);

    public Task CompleteAsync() => inner.CompleteAsync();

    public async Task SendFileAsync(string path, long offset, long? count, CancellationToken cancellationToken = default)
    {
        // Without a length the server frames the body, and copies it.
        if (context.Response.ContentLength is null)
        {
            await inner.SendFileAsync(path, offset, count, cancellationToken);
            return;
        }

        // Opened and measured before the response starts, so that an error can still become another response.
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
