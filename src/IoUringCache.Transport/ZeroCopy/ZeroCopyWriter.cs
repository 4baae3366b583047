using System.Buffers;
using System.Diagnostics.CodeAnalysis;
using System.IO.Pipelines;
using System.Runtime.CompilerServices;
using IoUringCache.Ring.Files;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.AspNetCore.Server.Kestrel.Core.Features;
using Microsoft.Win32.SafeHandles;

namespace IoUringCache.Transport.ZeroCopy;

/// <summary>
/// Writes memory of the application, or files, into a response, and where it can, without a copy in the process: the
/// kernel reads the memory where it lies, sends files from its page cache, and what another connection has received from
/// a <see cref="SplicePipe"/>. From <see cref="ZeroCopyHttpResponseExtensions.StartZeroCopyAsync"/>. One thread at a
/// time; lives as long as the response.
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
/// Memory that is sent without a copy must not change until the kernel has sent it, which may be after the request has
/// ended. It is pinned by <see cref="ReadOnlyMemory{T}.Pin"/> and unpinned when it was sent or dropped.
/// <see cref="MemoryManager{T}.Unpin"/> of a <see cref="MemoryManager{T}"/> runs on any thread, an event loop's among
/// them, and must neither block nor throw.
/// </para>
/// <para>
/// A write is zero-copy if the connection is this transport's, without TLS or connection middleware; the response is
/// HTTP/1.x and has a body whose length is known, or the application has set <c>Transfer-Encoding: chunked</c> and
/// frames the chunks itself; and no middleware replaces Kestrel's response body (compression, caching). Otherwise, and
/// below <see cref="MinimumLength"/> bytes, it copies. Of <see cref="FileBackedMemory"/> not even the kernel copies a
/// byte, unless TCP paces the connection (BBR).
/// </para>
/// <para>
/// After a zero-copy write that completes the response, <see cref="HttpContext.RequestAborted"/> may fire though
/// nothing is wrong.
/// </para>
/// </remarks>
[Experimental("IOURING002", Message = ExperimentalMessage)]
public sealed class ZeroCopyWriter
{
    /// <summary>
    /// Fewer bytes than this are copied, which costs less than to pin them and to name them to the kernel.
    /// </summary>
    public const int MinimumLength = 2048;

    /// <summary>
    /// Fewer bytes than this of a file, or of <see cref="FileBackedMemory"/>, are not sent as a file, because the
    /// system calls for that cost more than a copy.
    /// </summary>
    public const int MinimumFileLength = 16 * 1024;

    internal const string ExperimentalMessage = "Zero-copy bodies rely on how Kestrel writes responses, and may change with it.";

    /// <summary>
    /// Bytes that are copied at once, at most. Under TLS, and on other transports, each piece of the writer's memory
    /// costs a write of its own (docs/design/tls.md), and a piece of 4 KiB is what comes unasked.
    /// </summary>
    private const int CopyLength = 64 * 1024;

    private readonly PipeWriter _writer;
    private readonly IZeroCopyFeature? _connection;
    private readonly ChunkFlushes? _chunks;
    private readonly IHttpMinResponseDataRateFeature? _rate;
    private readonly MinDataRate? _configuredRate;
    private MinDataRate? _allowed;

    /// <summary>Whether bytes since the last flush are such that Kestrel's own wait is not needed.</summary>
    private bool _waitsBesideKestrel;

    /// <summary>
    /// Bytes since the last flush that Kestrel may not count: zero-copy, and with a Content-Length copied into its
    /// memory.
    /// </summary>
    private long _uncountedBytes;

    /// <summary>For a response that has started.</summary>
    internal ZeroCopyWriter(HttpResponse response, bool isFramedByApplication)
    {
        _writer = response.BodyWriter;
        _connection = FindConnection(response, isFramedByApplication);
        _chunks = _connection is not null && isFramedByApplication ? new ChunkFlushes(_connection, response) : null;
        _rate = Find<IHttpMinResponseDataRateFeature>(response.HttpContext.Features);
        _configuredRate = _rate?.MinDataRate;
    }

    /// <summary>Whether memory and files are sent without a copy in the process; otherwise they are copied.</summary>
    public bool IsZeroCopy => _connection is not null;

    /// <summary>The response's writer, for any call but a flush.</summary>
    private PipeWriter Writer
    {
        get
        {
            _chunks?.OnCalled();
            return _writer;
        }
    }

    /// <summary>Adds memory to the response; <see cref="FlushAsync"/> sends it.</summary>
    /// <param name="memory">Any length. Must not change until it has been sent, if <see cref="IsZeroCopy"/>.</param>
    /// <exception cref="InvalidOperationException">More bytes than the response's Content-Length.</exception>
    public void Write(ReadOnlyMemory<byte> memory)
    {
        while (!memory.IsEmpty)
        {
            ReadOnlyMemory<byte> piece = memory[..Math.Min(memory.Length, ZeroCopyOffer.MaxLength)];
            if (piece.Length < MinimumLength || !TryWrite(SourceOf(piece)))
            {
                Copy(piece.Span);
            }

            memory = memory[piece.Length..];
        }
    }

    /// <summary>Adds all bytes that a pipe has received to the response; <see cref="FlushAsync"/> sends them.</summary>
    /// <param name="pipe">Its bytes are sent in the order of such writes. It may receive further ones at once.</param>
    /// <exception cref="InvalidOperationException">
    /// <see cref="IsZeroCopy"/> is false, or it is more than the response's Content-Length.
    /// </exception>
    public void Write(SplicePipe pipe)
    {
        ArgumentNullException.ThrowIfNull(pipe);
        if (_connection is null)
        {
            throw new InvalidOperationException("A pipe can be sent only where the writer is zero-copy.");
        }

        while (pipe.Length > 0)
        {
            if (!TryWrite(pipe.Take(Math.Min(pipe.Length, ZeroCopyOffer.MaxLength))))
            {
                // Kestrel refuses the call after an abort only, and a copy would take bytes that wait in the pipe.
                _connection.Abort(new ConnectionAbortedException("Bytes in the kernel could not be added to the response."));
            }
        }
    }

    /// <summary>
    /// Memory of the transport to be filled, for bytes that are nobody's yet; <see cref="Advance"/> adds them to the
    /// response. Valid until then, or until the next call of another member.
    /// </summary>
    /// <param name="sizeHint">The least length, 0 or more. Defaults to 0: any length but 0.</param>
    /// <returns>At least that many bytes.</returns>
    public Memory<byte> GetMemory(int sizeHint = 0) => Writer.GetMemory(sizeHint);

    /// <summary>Adds bytes in the memory of <see cref="GetMemory"/>; <see cref="FlushAsync"/> sends them.</summary>
    /// <param name="bytes">0 or more, no more than the memory has.</param>
    /// <exception cref="InvalidOperationException">More bytes than the response's Content-Length.</exception>
    public void Advance(int bytes)
    {
        Writer.Advance(bytes);
        _uncountedBytes += bytes;
        _waitsBesideKestrel |= IsZeroCopy;
    }

    /// <summary>
    /// Sends what was written, and waits while the transport's write buffer is full. After a wait for zero-copy bytes,
    /// or for those of <see cref="Advance"/>, the caller continues where handlers run; after more than a second, on the
    /// thread pool, as after a flush of Kestrel's. Await it once, before the response ends.
    /// </summary>
    /// <param name="cancellationToken">Ends the waiting, and with it the response: over HTTP/1.x the connection is
    /// reset.</param>
    /// <returns>Whether the client has gone, as <see cref="PipeWriter.FlushAsync"/> returns it.</returns>
    public ValueTask<FlushResult> FlushAsync(CancellationToken cancellationToken = default)
    {
        AllowTimeForUncounted();
        ValueTask<FlushResult> flush = _waitsBesideKestrel
            ? ZeroCopyFlush.FlushAsync(_connection!, _writer, cancellationToken)
            : _writer.FlushAsync(cancellationToken);
        _waitsBesideKestrel = false;
        return _chunks is null ? flush : _chunks.OnFlush(flush);
    }

    /// <summary>
    /// <see cref="Write(ReadOnlyMemory{byte})"/> and <see cref="FlushAsync"/> in one. With chunks that the application
    /// frames it costs less than the two.
    /// </summary>
    /// <param name="memory">Any length. Must not change until it has been sent, if <see cref="IsZeroCopy"/>.</param>
    /// <param name="cancellationToken">The token of <see cref="FlushAsync"/>.</param>
    /// <returns>Whether the client has gone.</returns>
    /// <exception cref="InvalidOperationException">More bytes than the response's Content-Length.</exception>
    public ValueTask<FlushResult> WriteAsync(ReadOnlyMemory<byte> memory, CancellationToken cancellationToken = default)
    {
        if (_chunks is not null
            && memory.Length is >= MinimumLength and <= ZeroCopyOffer.MaxLength && !cancellationToken.IsCancellationRequested
            && _chunks.TryFlush(SourceOf(memory), out FlushResult result, out bool mustWait))
        {
            if (!mustWait)
            {
                return new(result);
            }

            AllowTimeForUncounted();
            return _chunks.OnFlush(ZeroCopyFlush.AwaitSpaceAsync(new(result), _connection!, _writer, cancellationToken));
        }

        Write(memory);
        return FlushAsync(cancellationToken);
    }

    /// <summary>
    /// Adds a range of a file and sends what was written. The kernel sends the range from its page cache, into which a
    /// thread of the pool reads missing pages first. Copies the range unless <see cref="IsZeroCopy"/>.
    /// </summary>
    /// <param name="file">A regular file, open for reading. It is kept open until it has been sent, and must not become
    /// shorter.</param>
    /// <param name="offset">Where the range begins.</param>
    /// <param name="length">Bytes, 0 or more.</param>
    /// <param name="cancellationToken">The token of <see cref="FlushAsync"/>.</param>
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

    /// <summary>
    /// The connection, if every condition holds under which Kestrel passes the calls through to the transport, and only
    /// counts their bytes (README.md in this folder).
    /// </summary>
    private static IZeroCopyFeature? FindConnection(HttpResponse response, bool isFramedByApplication)
    {
        IFeatureCollection features = response.HttpContext.Features;
        HttpRequest request = response.HttpContext.Request;
        IZeroCopyFeature? connection = Find<IZeroCopyFeature>(features);
        bool isZeroCopy = connection is not null
            && ReferenceEquals(Find<IConnectionTransportFeature>(features)?.Transport, connection.Pipe)
            && (HttpProtocol.IsHttp11(request.Protocol) || HttpProtocol.IsHttp10(request.Protocol))
            && !HttpMethods.IsHead(request.Method)
            && response.StatusCode is >= StatusCodes.Status200OK
                and not (StatusCodes.Status204NoContent or StatusCodes.Status205ResetContent or StatusCodes.Status304NotModified)
            && (response.ContentLength is not null || isFramedByApplication)
            && OwnBodyOf(features)?.GetType().Assembly == typeof(KestrelServer).Assembly;
        return isZeroCopy ? connection : null;
    }

    private static IHttpResponseBodyFeature? OwnBodyOf(IFeatureCollection features) =>
        Find<IHttpResponseBodyFeature>(features) is var body && body is SendFileBody { Inner: var inner } ? inner : body;

    /// <summary>
    /// What <c>Get</c> returns, without its generic virtual calls, which the runtime looks up anew at each collection on
    /// the way.
    /// </summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static TFeature? Find<TFeature>(IFeatureCollection features)
        where TFeature : class => (TFeature?)features[typeof(TFeature)];

    /// <summary>
    /// Sends memory that is a file as a file, so that the kernel does not copy it. Not where TCP paces: linked pages
    /// are ready so soon that each TCP segment waits for its timer, which costs more than the copy
    /// (docs/design/zero-copy.md).
    /// </summary>
    private ZeroCopySource SourceOf(ReadOnlyMemory<byte> memory) =>
        memory.Length >= MinimumFileLength && _connection is { IsPaced: false } && FileMemory.TryFind(memory, out FileMemory? owner, out int offset)
            ? ZeroCopySource.Of(owner.File, offset, memory.Length)
            : ZeroCopySource.Of(memory);

    private void Copy(ReadOnlySpan<byte> bytes)
    {
        while (!bytes.IsEmpty)
        {
            Span<byte> memory = Writer.GetSpan(Math.Min(bytes.Length, CopyLength));
            int count = Math.Min(memory.Length, bytes.Length);
            bytes[..count].CopyTo(memory);
            Writer.Advance(count);
            _uncountedBytes += count;
            bytes = bytes[count..];
        }
    }

    private bool TryWrite(in ZeroCopySource source)
    {
        if (_connection is null || !ZeroCopyOffer.TryWrite(_connection, Writer, source))
        {
            return false;
        }

        _uncountedBytes += source.Length;
        _waitsBesideKestrel = true;
        return true;
    }

    /// <summary>
    /// Copies a short range, if the whole of it is in the page cache: one system call, without the file's length.
    /// </summary>
    private bool TryCopy(SafeFileHandle file, long offset, int length)
    {
        bool isWhole = PageCache.TryRead(file, offset, Writer.GetSpan(length)[..length]) == length;
        if (isWhole)
        {
            Writer.Advance(length);
            _uncountedBytes += length;
        }

        return isWhole;
    }

    /// <summary>Adds a piece of a file, or the beginning of it.</summary>
    /// <returns>Bytes added.</returns>
    private async ValueTask<int> WritePieceAsync(SafeFileHandle file, long offset, int length, CancellationToken cancellationToken)
    {
        if (length == 0)
        {
            return 0;
        }

        // Only pages in the page cache are read on the caller's thread, or sent: the loop must not wait for a disk.
        if (IsZeroCopy && length >= MinimumFileLength)
        {
            await FilePages.LoadAsync(file, offset, length, cancellationToken);
            if (TryWrite(ZeroCopySource.Of(file, offset, length)))
            {
                return length;
            }
        }

        Memory<byte> memory = Writer.GetMemory(Math.Min(length, CopyLength));
        memory = memory[..Math.Min(memory.Length, length)];
        int count = PageCache.TryRead(file, offset, memory.Span);
        if (count < 0)
        {
            // Not in the page cache, or the file system does not support a read that does not wait.
            count = PageCache.Contains(file, offset, memory.Length)
                ? RandomAccess.Read(file, memory.Span, offset)
                : await RandomAccess.ReadAsync(file, memory, offset, cancellationToken);
        }

        FilePages.ThrowIfEnded(count);
        Writer.Advance(count);
        _uncountedBytes += count;
        return count;
    }

    /// <summary>
    /// Kestrel aborts a response that leaves more slowly than its minimum data rate, and grants time by the bytes that
    /// it has counted. The grace period grants the time of the others, and of those that went past it and are unsent.
    /// </summary>
    private void AllowTimeForUncounted()
    {
        long bytes = _uncountedBytes + (_chunks?.UnsentBytes ?? 0);
        _uncountedBytes = 0;
        if (_configuredRate is not { } rate || TimeSpan.FromSeconds(bytes / rate.BytesPerSecond) is var needed && needed <= rate.GracePeriod)
        {
            return;
        }

        // Flushes of a stream are much alike, so one object serves many of them.
        if (_allowed is not { } allowed || allowed.GracePeriod < needed || allowed.GracePeriod > 2 * needed)
        {
            _allowed = allowed = new MinDataRate(rate.BytesPerSecond, needed);
        }

        _rate!.MinDataRate = allowed;
    }
}
