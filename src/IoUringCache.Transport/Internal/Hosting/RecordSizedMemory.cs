using System.Buffers;
using IoUringCache.Transport.Internal.Buffers;

namespace IoUringCache.Transport.Internal.Hosting;

/// <summary>
/// Memory for what lies over the connections of a listener: Kestrel's TLS, HTTP/2 and pipes. Kestrel's own pool has
/// blocks of 4 KiB, and its TLS makes a record and a write to the connection of each, where a record may have 16 KiB
/// (RFC 8446 5.1). The runtime's shared pool keeps 32 blocks for each processor, and a turn may use hundreds.
/// Connections without TLS and HTTP/2 hardly use it. Any thread; owned by the listener.
/// </summary>
internal sealed class RecordSizedMemory : MemoryPool<byte>
{
    /// <summary>
    /// Bytes, at least. Two full records: with one, and the head before it, each body costs an eighth more
    /// (docs/design/tls.md).
    /// </summary>
    internal const int BlockLength = 32 * 1024;

    /// <summary>Blocks that are kept: 32 MiB, of which what was not needed for 10 to 20 s goes.</summary>
    internal const int MaxKept = 1024;

    private static readonly TimeSpan s_trimInterval = TimeSpan.FromSeconds(10);

    private readonly Lock _lock = new();
    private readonly Shelf<byte[]> _kept = new(MaxKept);
    private readonly ITimer _trimming;

    public RecordSizedMemory(TimeProvider time) =>
        _trimming = time.CreateTimer(static pool => ((RecordSizedMemory)pool!).Trim(), this, s_trimInterval, s_trimInterval);

    public override int MaxBufferSize => Shared.MaxBufferSize;

    internal int KeptCount
    {
        get
        {
            lock (_lock)
            {
                return _kept.Count;
            }
        }
    }

    public override IMemoryOwner<byte> Rent(int minBufferSize = -1) =>
        minBufferSize > BlockLength ? Shared.Rent(minBufferSize) : new Block(this, Take());

    /// <summary>Connections that outlive their listener go on with what they have rented.</summary>
    protected override void Dispose(bool disposing) => _trimming.Dispose();

    private byte[] Take()
    {
        lock (_lock)
        {
            if (_kept.TryTake(out byte[]? kept))
            {
                return kept;
            }
        }

        return GC.AllocateUninitializedArray<byte>(BlockLength);
    }

    private void Return(byte[] bytes)
    {
        lock (_lock)
        {
            _kept.Put(bytes);
        }
    }

    private void Trim()
    {
        lock (_lock)
        {
            _kept.Trim();
        }
    }

    /// <summary>One use of a block: its bytes go back once, however often it is disposed. One thread at a time; owned by its renter.</summary>
    private sealed class Block(RecordSizedMemory pool, byte[] bytes) : IMemoryOwner<byte>
    {
        private byte[]? _bytes = bytes;

        public Memory<byte> Memory => _bytes ?? throw new ObjectDisposedException(nameof(RecordSizedMemory));

        public void Dispose()
        {
            if (Interlocked.Exchange(ref _bytes, null) is { } unused)
            {
                pool.Return(unused);
            }
        }
    }
}
