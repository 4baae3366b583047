using System.Buffers;
using System.IO.Pipelines;
using IoUringCache.Ring.Files;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.AspNetCore.Server.Kestrel.Core.Features;
using Microsoft.Win32.SafeHandles;

namespace IoUringCache.Transport.ZeroCopy;

/// <summary>
/// Writes memory of the application's own, or files, into a response, and where it can, lends them to the transport instead of copying: the
/// kernel reads memory where it lies, and sends files from its page cache. From
/// <see cref="ZeroCopyHttpResponseExtensions.StartZeroCopyAsync"/>. Used by one thread at a time, as the response is; lives as long as
/// the response.
/// </summary>
/// <example><code>
/// app.MapGet("/logo", async (HttpContext context) =>
/// {
///     context.Response.ContentLength = logo.Length;
///     ZeroCopyWriter body = await context.Response.StartZeroCopyAsync(context.RequestAborted);
///     await body.WriteAsync(logo, context.RequestAborted);
/// });
/// </code></example>
/// <remarks>
/// <para>
/// Memory that was lent must not change until the kernel has sent it, which may be after the request has ended. It is pinned by
/// <see cref="ReadOnlyMemory{T}.Pin"/> and unpinned when it has been sent or dropped, so a <see cref="MemoryManager{T}"/> hears of that
/// (<see cref="MemoryManager{T}.Unpin"/>; from any thread, the loop's among them: it must neither block nor throw).
/// </para>
/// <para>
/// Memory is lent if the connection is the transport's own, without TLS or connection middleware; the response is HTTP/1.x, has a
/// body, and its length is known or the application has set <c>Transfer-Encoding: chunked</c> and frames the chunks itself; and nothing
/// stands between the application and Kestrel's own body (no compression, no caching middleware). Otherwise, and for less than
/// <see cref="MinimumLength"/> bytes, it is copied. Of <see cref="FileBackedMemory"/> not even the kernel copies a
/// byte, unless TCP paces the connection (BBR): its pages become the socket's.
/// </para>
/// <para>
/// After a lent write that completes the response, <see cref="HttpContext.RequestAborted"/> may fire though nothing is wrong.
/// </para>
/// </remarks>
public sealed class ZeroCopyWriter
{
    /// <summary>Less than this many bytes are copied: that costs less than to pin them and to name them to the kernel.</summary>
    public const int MinimumLength = 2048;

    /// <summary>
    /// Less than this many bytes of a file, or of <see cref="FileBackedMemory"/>, are not sent as a file: the calls that it takes cost more than
    /// a copy.
    /// </summary>
    public const int MinimumFileLength = 16 * 1024;

    /// <summary>Bytes of a file that are read at once where they are copied.</summary>
    private const int CopyLength = 64 * 1024;

    private readonly PipeWriter _writer;
    private readonly IZeroCopyFeature? _connection;
    private readonly IHttpMinResponseDataRateFeature? _rate;
    private readonly MinDataRate? _configuredRate;
    private MinDataRate? _allowed;
    private bool _hasLent;

    /// <summary>Bytes since the last flush that Kestrel may not count: those lent, and with a Content-Length those copied into its memory.</summary>
    private long _uncountedBytes;

    private ZeroCopyWriter(HttpResponse response, IZeroCopyFeature? connection)
    {
        _writer = response.BodyWriter;
        _connection = connection;
        _rate = response.HttpContext.Features.Get<IHttpMinResponseDataRateFeature>();
        _configuredRate = _rate?.MinDataRate;
    }

    /// <summary>Whether memory is lent; otherwise it is copied.</summary>
    public bool Lends => _connection is not null;

    /// <summary>Adds memory to the response; <see cref="FlushAsync"/> sends it.</summary>
    /// <param name="memory">Any length. Must not change until it has been sent, if <see cref="Lends"/>.</param>
    /// <exception cref="InvalidOperationException">More bytes than the response's Content-Length.</exception>
    public void Write(ReadOnlyMemory<byte> memory)
    {
        while (!memory.IsEmpty)
        {
            ReadOnlyMemory<byte> piece = memory[..Math.Min(memory.Length, ZeroCopyOffer.MaxLength)];
            if (piece.Length < MinimumLength || !TryWrite(SourceOf(piece)))
            {
                _writer.Write(piece.Span);
                _uncountedBytes += piece.Length;
            }

            memory = memory[piece.Length..];
        }
    }

    /// <summary>
    /// Sends what was written; ends when the transport's write buffer has room again. Where it had to wait for that and something was lent,
    /// whoever awaits it goes on where handlers run, unless it took more than a second: then on the thread pool, as after a flush of
    /// Kestrel's. Await it once, and before the response ends.
    /// </summary>
    /// <param name="cancellationToken">Ends the waiting, and with it the response: over HTTP/1.x the connection is reset.</param>
    /// <returns>Whether the client has gone, as that of <see cref="PipeWriter.FlushAsync"/>.</returns>
    public ValueTask<FlushResult> FlushAsync(CancellationToken cancellationToken = default)
    {
        AllowTimeForUncounted();
        if (!_hasLent)
        {
            return _writer.FlushAsync(cancellationToken);
        }

        _hasLent = false;
        return _connection!.FlushAsync(_writer, cancellationToken);
    }

    /// <summary><see cref="Write"/> and <see cref="FlushAsync"/> in one.</summary>
    /// <param name="memory">Any length. Must not change until it has been sent, if <see cref="Lends"/>.</param>
    /// <param name="cancellationToken">That of <see cref="FlushAsync"/>.</param>
    /// <returns>Whether the client has gone.</returns>
    /// <exception cref="InvalidOperationException">More bytes than the response's Content-Length.</exception>
    public ValueTask<FlushResult> WriteAsync(ReadOnlyMemory<byte> memory, CancellationToken cancellationToken = default)
    {
        if (!Lends)
        {
            // Kestrel counts these itself, but not as what comes after those that it has not.
            _uncountedBytes += _uncountedBytes == 0 ? 0 : memory.Length;
            AllowTimeForUncounted();
            return _writer.WriteAsync(memory, cancellationToken);
        }

        Write(memory);
        return FlushAsync(cancellationToken);
    }

    /// <summary>
    /// Adds a range of a file and sends what was written. The kernel sends the range from its page cache, into which a thread of the pool
    /// reads what is not there; where nothing can be lent, it is copied.
    /// </summary>
    /// <param name="file">A regular file, open for reading. It is kept open until it has been sent, and must not become shorter.</param>
    /// <param name="offset">Where the range begins.</param>
    /// <param name="length">Bytes, 0 or more.</param>
    /// <param name="cancellationToken">That of <see cref="FlushAsync"/>.</param>
    /// <returns>Whether the client has gone.</returns>
    /// <exception cref="ArgumentOutOfRangeException">The offset or the length is negative.</exception>
    /// <exception cref="EndOfStreamException">The file ends before the range does.</exception>
    /// <exception cref="InvalidOperationException">More bytes than the response's Content-Length.</exception>
    /// <exception cref="ObjectDisposedException">The file is closed.</exception>
    public async ValueTask<FlushResult> WriteFileAsync(
        SafeFileHandle file, long offset, long length, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(file);
        ArgumentOutOfRangeException.ThrowIfNegative(offset);
        ArgumentOutOfRangeException.ThrowIfNegative(length);

        if (length is > 0 and < MinimumFileLength && TryCopy(file, offset, (int)length))
        {
            return await FlushAsync(cancellationToken);
        }

        if (length > RandomAccess.GetLength(file) - offset)
        {
            throw new EndOfStreamException($"The file ends before the range of {length} bytes at {offset} does.");
        }

        FlushResult result;
        do
        {
            int written = await WritePieceAsync(file, offset, (int)Math.Min(length, ZeroCopyOffer.MaxLength), cancellationToken);
            offset += written;
            length -= written;
            result = await FlushAsync(cancellationToken);
        }
        while (length != 0 && !result.IsCompleted);
        return result;
    }

    /// <summary>For a response that has started.</summary>
    internal static ZeroCopyWriter Create(HttpResponse response, bool isFramedByApplication) =>
        new(response, FindLender(response, isFramedByApplication));

    /// <summary>
    /// The connection, if every condition holds under which Kestrel hands the calls through to the transport, and counts their bytes and
    /// nothing else.
    /// </summary>
    private static IZeroCopyFeature? FindLender(HttpResponse response, bool isFramedByApplication)
    {
        IFeatureCollection features = response.HttpContext.Features;
        HttpRequest request = response.HttpContext.Request;
        IZeroCopyFeature? connection = features.Get<IZeroCopyFeature>();
        bool canLend = connection is not null
            && ReferenceEquals(features.Get<IConnectionTransportFeature>()?.Transport, connection.Pipe)
            && (HttpProtocol.IsHttp11(request.Protocol) || HttpProtocol.IsHttp10(request.Protocol))
            && !HttpMethods.IsHead(request.Method)
            && response.StatusCode is >= StatusCodes.Status200OK
                and not (StatusCodes.Status204NoContent or StatusCodes.Status205ResetContent or StatusCodes.Status304NotModified)
            && (response.ContentLength is not null || isFramedByApplication)
            && OwnBodyOf(features)?.GetType().Assembly == typeof(KestrelServer).Assembly;
        return canLend ? connection : null;
    }

    private static IHttpResponseBodyFeature? OwnBodyOf(IFeatureCollection features) =>
        features.Get<IHttpResponseBodyFeature>() is var body && body is IResponseBodyWrapper { Inner: var inner } ? inner : body;

    /// <summary>
    /// Memory that is a file leaves as one: the kernel then reads it no more than the process does. Not where it is paced: what links pages
    /// is ready so soon that each segment waits for its timer, which costs more than the copy
    /// (docs/decisions/0040-bodies-in-files.md).
    /// </summary>
    private ZeroCopySource SourceOf(ReadOnlyMemory<byte> memory) =>
        memory.Length >= MinimumFileLength && _connection is { IsPaced: false } && FileMemory.TryFind(memory, out FileMemory? owner, out int offset)
            ? ZeroCopySource.Of(owner.File, offset, memory.Length)
            : ZeroCopySource.Of(memory);

    private bool TryWrite(in ZeroCopySource loan)
    {
        if (_connection?.TryWrite(_writer, loan) != true)
        {
            return false;
        }

        _uncountedBytes += loan.Length;
        _hasLent = true;
        return true;
    }

    /// <summary>Copies a short range that is in the page cache as a whole: one system call, and nothing else has to be known of the file.</summary>
    private bool TryCopy(SafeFileHandle file, long offset, int length)
    {
        bool isWhole = PageCache.TryRead(file, offset, _writer.GetSpan(length)[..length]) == length;
        if (isWhole)
        {
            _writer.Advance(length);
            _uncountedBytes += length;
        }

        return isWhole;
    }

    /// <summary>Lends or copies a piece of a file, or its beginning.</summary>
    /// <returns>How many bytes of it.</returns>
    private async ValueTask<int> WritePieceAsync(SafeFileHandle file, long offset, int length, CancellationToken cancellationToken)
    {
        if (length == 0)
        {
            return 0;
        }

        // Only what is in the page cache is read on the caller's thread, or sent: the loop must not wait for a disk.
        if (Lends && length >= MinimumFileLength)
        {
            if (!PageCache.Contains(file, offset, length))
            {
                await LoadAsync(file, offset, length, cancellationToken);
            }

            if (TryWrite(ZeroCopySource.Of(file, offset, length)))
            {
                return length;
            }
        }

        Memory<byte> memory = _writer.GetMemory(Math.Min(length, CopyLength));
        memory = memory[..Math.Min(memory.Length, length)];
        int count = PageCache.TryRead(file, offset, memory.Span);
        if (count < 0)
        {
            // Not there, or a file system that cannot say while it reads.
            count = PageCache.Contains(file, offset, memory.Length)
                ? RandomAccess.Read(file, memory.Span, offset)
                : await RandomAccess.ReadAsync(file, memory, offset, cancellationToken);
        }

        ThrowIfEnded(count);
        _writer.Advance(count);
        _uncountedBytes += count;
        return count;
    }

    /// <summary>Reads a range into the page cache, on the thread pool.</summary>
    private static async ValueTask LoadAsync(SafeFileHandle file, long offset, int length, CancellationToken cancellationToken)
    {
        byte[] buffer = ArrayPool<byte>.Shared.Rent(CopyLength);
        try
        {
            while (length > 0)
            {
                int count = await RandomAccess.ReadAsync(file, buffer.AsMemory(0, Math.Min(length, buffer.Length)), offset, cancellationToken);
                ThrowIfEnded(count);
                offset += count;
                length -= count;
            }
        }
        finally
        {
            ArrayPool<byte>.Shared.Return(buffer);
        }
    }

    private static void ThrowIfEnded(int count)
    {
        if (count == 0)
        {
            throw new EndOfStreamException("The file has become shorter than the range that is to be sent.");
        }
    }

    /// <summary>
    /// Kestrel aborts a response that leaves more slowly than its minimum data rate, and grants the time by the bytes that it has counted.
    /// So the grace period is what those may take that it has not.
    /// </summary>
    private void AllowTimeForUncounted()
    {
        long bytes = _uncountedBytes;
        _uncountedBytes = 0;
        if (_configuredRate is not { } rate || TimeSpan.FromSeconds(bytes / rate.BytesPerSecond) is var needed && needed <= rate.GracePeriod)
        {
            return;
        }

        // Flushes of a stream are much alike; what allows one of them its time does so for the next, without memory for each.
        if (_allowed is not { } allowed || allowed.GracePeriod < needed || allowed.GracePeriod > 2 * needed)
        {
            _allowed = allowed = new MinDataRate(rate.BytesPerSecond, needed);
        }

        _rate!.MinDataRate = allowed;
    }
}
