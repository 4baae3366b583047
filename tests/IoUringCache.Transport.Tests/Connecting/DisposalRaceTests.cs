using System.Buffers;
using System.IO.Pipelines;
using System.Net.Sockets;
using IoUringCache.Transport.Internal.Connecting;
using IoUringCache.Transport.Internal.Connections;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Transport.Tests.Connecting;

/// <summary>
/// A stream that is disposed by another thread in the middle of a call, as HTTP clients do when a request is cancelled: memory that the call
/// uses must not become another connection's before the call has ended.
/// </summary>
public sealed class DisposalRaceTests
{
    public static TheoryData<TransportKind> IoUring => Transports.IoUring;

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Dispose_WhileAWriteCopies_OtherConnectionsSendTheirOwnBytes(TransportKind kind)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        await using ConnectionPair other = await peer.ConnectAsync();
        ConnectionContext connection = await peer.ConnectOnlyAsync();
        using Socket client = await peer.AcceptAsync();
        CopyingWriter writer = new(connection.Transport.Output);
        connection.Transport = new DuplexPipe(connection.Transport.Input, writer);
        ConnectionStream stream = new((IoUringConnectionContext)connection, TimeProvider.System);
        Task writing = stream.WriteAsync("mine"u8.ToArray()).AsTask();
        await writer.IsCopying.InTime();

        stream.Dispose();
        "other"u8.CopyTo(other.Output.GetSpan());
        other.Output.Advance(5);
        writer.GoOn();

        Exception? failure = await Record.ExceptionAsync(() => writing.InTime());
        await other.Output.FlushAsync().InTime();
        Assert.Equal("other"u8.ToArray(), await other.Client.ReceiveExactlyAsync(5));
        Assert.True(failure is null or IOException, $"{failure}"); // The reset and the end of the write are concurrent.
        await client.AssertResetAsync();
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Dispose_WhileAReadCopies_ReadHasItsBytes(TransportKind kind)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        ConnectionContext connection = await peer.ConnectOnlyAsync();
        using Socket client = await peer.AcceptAsync();
        ConnectionStream stream = new((IoUringConnectionContext)connection, TimeProvider.System);
        await client.SendAllAsync("abc"u8.ToArray());
        Assert.Equal(0, await stream.ReadAsync(Memory<byte>.Empty).InTime());
        await Task.Yield();
        CallingMemory copied = new(stream.Dispose);
        Memory<byte> memory = copied.Memory;
        copied.IsUsed = true;

        Assert.Equal(3, await stream.ReadAsync(memory).InTime());

        Assert.Equal("abc"u8.ToArray(), copied.Bytes[..3]);
        Assert.Empty(await client.ReceiveToEndAsync());
    }

    private sealed record DuplexPipe(PipeReader Input, PipeWriter Output) : IDuplexPipe;

    /// <summary>Writes as <see cref="PipeWriter"/> does, and stops between the memory that it got and the copy.</summary>
    private sealed class CopyingWriter(PipeWriter inner) : PipeWriter
    {
        private readonly TaskCompletionSource _copies = new(TaskCreationOptions.RunContinuationsAsynchronously);
        private readonly TaskCompletionSource _goesOn = new(TaskCreationOptions.RunContinuationsAsynchronously);

        internal Task IsCopying => _copies.Task;

        internal void GoOn() => _goesOn.SetResult();

        public override async ValueTask<FlushResult> WriteAsync(ReadOnlyMemory<byte> source, CancellationToken cancellationToken = default)
        {
            Memory<byte> memory = inner.GetMemory();
            _copies.SetResult();
            await _goesOn.Task.InTime();
            source.CopyTo(memory);
            inner.Advance(source.Length);
            return await inner.FlushAsync(cancellationToken);
        }

        public override void Advance(int bytes) => inner.Advance(bytes);

        public override Memory<byte> GetMemory(int sizeHint = 0) => inner.GetMemory(sizeHint);

        public override Span<byte> GetSpan(int sizeHint = 0) => inner.GetSpan(sizeHint);

        public override ValueTask<FlushResult> FlushAsync(CancellationToken cancellationToken = default) => inner.FlushAsync(cancellationToken);

        public override void CancelPendingFlush() => inner.CancelPendingFlush();

        public override void Complete(Exception? exception = null) => inner.Complete(exception);
    }

    /// <summary>Makes a call when a read is about to copy to it.</summary>
    private sealed class CallingMemory(Action call) : MemoryManager<byte>
    {
        internal byte[] Bytes { get; } = new byte[16];

        internal bool IsUsed { get; set; }

        public override Span<byte> GetSpan()
        {
            if (IsUsed)
            {
                call();
            }

            return Bytes;
        }

        public override MemoryHandle Pin(int elementIndex = 0) => throw new NotSupportedException();

        public override void Unpin()
        {
        }

        protected override void Dispose(bool disposing)
        {
        }
    }
}
