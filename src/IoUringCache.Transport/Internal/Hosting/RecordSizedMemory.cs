using System.Buffers;

namespace IoUringCache.Transport.Internal.Hosting;

/// <summary>
/// Memory for what lies over the connections of a listener: Kestrel's TLS, HTTP/2 and pipes. Kestrel's own pool has
/// blocks of 4 KiB, and its TLS makes a record and a write to the connection of each, where a record may have 16 KiB
/// (RFC 8446 5.1). Connections without TLS and HTTP/2 hardly use it. Any thread; owned by the listener.
/// </summary>
internal sealed class RecordSizedMemory : MemoryPool<byte>
{
    /// <summary>
    /// Bytes, at least. Two full records: with one, and the head before it, each body costs an eighth more
    /// (docs/design/tls.md).
    /// </summary>
    internal const int BlockLength = 32 * 1024;

    public override int MaxBufferSize => Shared.MaxBufferSize;

    public override IMemoryOwner<byte> Rent(int minBufferSize = -1) => Shared.Rent(Math.Max(minBufferSize, BlockLength));

    protected override void Dispose(bool disposing)
    {
        // The blocks are the shared pool's.
    }
}
