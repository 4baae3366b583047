using IoUringCache.Transport.ZeroCopy;

namespace Microsoft.AspNetCore.Http;

/// <summary>Lending memory to responses, on any transport.</summary>
/// <example><code>
/// ZeroCopyWriter body = await context.Response.StartZeroCopyAsync(context.RequestAborted);
/// await body.WriteAsync(logo, context.RequestAborted);
/// </code></example>
public static class ZeroCopyHttpResponseExtensions
{
    /// <summary>
    /// Starts the response, so that status and headers are settled, and returns what writes its body: memory is lent to the transport
    /// instead of being copied where that is possible, and copied elsewhere.
    /// </summary>
    /// <param name="response">
    /// A response that nothing was written to yet. Its Content-Length is set, or the application frames the body itself and has set
    /// <c>Transfer-Encoding: chunked</c>; otherwise the server frames it and everything is copied.
    /// </param>
    /// <param name="cancellationToken">Ends the start, which is quick.</param>
    /// <returns>The body's writer; <see cref="ZeroCopyWriter.Lends"/> says what it does.</returns>
    /// <exception cref="OperationCanceledException">By <paramref name="cancellationToken"/>.</exception>
    public static async ValueTask<ZeroCopyWriter> StartZeroCopyAsync(this HttpResponse response, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(response);

        // After the start, a header of Kestrel's own looks the same.
        bool isFramedByApplication = !response.HasStarted && response.Headers.TransferEncoding.Count != 0;
        await response.StartAsync(cancellationToken);
        return ZeroCopyWriter.Create(response, isFramedByApplication);
    }
}
