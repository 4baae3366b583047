using System.Buffers;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Transport.Tests.Support;

/// <summary>Stands for the pool factory that Kestrel registers; counts what is made and disposed.</summary>
internal sealed class TestMemoryPoolFactory : IMemoryPoolFactory<byte>
{
    private int _live;

    internal int LiveCount => Volatile.Read(ref _live);

    public MemoryPool<byte> Create(MemoryPoolOptions? options = null)
    {
        Interlocked.Increment(ref _live);
        return new Pool(this);
    }

    private sealed class Pool(TestMemoryPoolFactory owner) : MemoryPool<byte>
    {
        private int _disposed;

        public override int MaxBufferSize => Shared.MaxBufferSize;

        public override IMemoryOwner<byte> Rent(int minBufferSize = -1) => Shared.Rent(minBufferSize);

        protected override void Dispose(bool disposing)
        {
            if (Interlocked.Exchange(ref _disposed, 1) == 0)
            {
                Interlocked.Decrement(ref owner._live);
            }
        }
    }
}
