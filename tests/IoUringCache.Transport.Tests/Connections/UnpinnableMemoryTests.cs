using System.Buffers;
using System.IO.Pipelines;
using IoUringCache.Transport.Tests.Connecting;
using IoUringCache.Transport.Tests.Support;
using IoUringCache.Transport.ZeroCopy;

namespace IoUringCache.Transport.Tests.Connections;

/// <summary>Memory of the application that throws as the loop pins it: its connection goes on without it, and the loop with all others.</summary>
public sealed class UnpinnableMemoryTests
{
    [Theory]
    [MemberData(nameof(Transports.IoUring), MemberType = typeof(Transports))]
    public async Task DirectRead_IntoMemoryOfADisposedOwner_HasTheBytesElsewhere(TransportKind kind)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        await using ConnectionPair pair = await peer.ConnectAsync();
        await using ConnectionPair other = await peer.ConnectAsync();
        IDirectReceiveFeature direct = pair.Server.Features.Get<IDirectReceiveFeature>()!;
        using DisposedMemory memory = new();
        ValueTask<ReadResult> reading = direct.ReadAsync(memory.Lent, 5);
        await memory.Pinned.InTime();

        await pair.Client.SendAllAsync("abcde"u8.ToArray());
        ReadResult read = await reading.InTime();
        Assert.Equal("abcde"u8.ToArray(), read.Buffer.ToArray());
        pair.Input.AdvanceTo(read.Buffer.End);

        await other.Client.SendAllAsync("abc"u8.ToArray());
        ReadResult last = await other.Input.ReadAsync().InTime();
        Assert.Equal(3, last.Buffer.Length);
        other.Input.AdvanceTo(last.Buffer.End);
    }

    private sealed class DisposedMemory : MemoryManager<byte>
    {
        private readonly TaskCompletionSource _pinned = new(TaskCreationOptions.RunContinuationsAsynchronously);

        /// <summary>Completes when the loop tries to pin the memory.</summary>
        internal Task Pinned => _pinned.Task;

        /// <summary>As it was handed out before.</summary>
        internal Memory<byte> Lent => CreateMemory(64 * 1024);

        public override Span<byte> GetSpan() => throw new ObjectDisposedException(nameof(DisposedMemory));

        public override MemoryHandle Pin(int elementIndex = 0)
        {
            _pinned.TrySetResult();
            throw new ObjectDisposedException(nameof(DisposedMemory));
        }

        public override void Unpin()
        {
        }

        protected override void Dispose(bool disposing)
        {
        }
    }
}
