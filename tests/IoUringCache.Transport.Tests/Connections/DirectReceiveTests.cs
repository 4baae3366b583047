using System.Buffers;
using System.IO.Pipelines;
using System.Net.Sockets;
using IoUringCache.Ring;
using IoUringCache.Ring.Native;
using IoUringCache.Transport.Internal.Loops;
using IoUringCache.Transport.Tests.Connecting;
using IoUringCache.Transport.Tests.Faults;
using IoUringCache.Transport.Tests.Loops;
using IoUringCache.Transport.Tests.Support;
using IoUringCache.Transport.ZeroCopy;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Transport.Tests.Connections;

/// <summary>Bodies that are received into memory of the application, and the memory's way back in every end.</summary>
public sealed class DirectReceiveTests
{
    private const int MemoryBytes = 64 * 1024;

    public static TheoryData<TransportKind> IoUring => Transports.IoUring;

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Body_LongerThanTheMemory_ArrivesAndMostOfItInTheMemory(TransportKind kind)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        await using ConnectionPair pair = await peer.ConnectAsync();
        byte[] sent = Payload.Of(3_000_001);

        Task sending = pair.Client.SendAllAsync(sent);
        (byte[] received, long inPlace) = await ReadBodyAsync(pair.Server, sent.Length);

        await sending.InTime();
        Payload.AssertEqual(sent, received);
        Assert.True(inPlace > sent.Length / 2, $"{inPlace} of {sent.Length} bytes were received in place.");
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Body_WhoseBytesHaveCome_IsReadFromWhereTheyAre(TransportKind kind)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        await using ConnectionPair pair = await peer.ConnectAsync();
        await pair.Client.SendAllAsync("abc"u8.ToArray());
        ReadResult first = await pair.Input.ReadAsync().InTime();
        pair.Input.AdvanceTo(first.Buffer.Start);
        byte[] memory = new byte[16];

        ReadResult read = await Direct(pair).ReadAsync(memory, 100).InTime();

        Assert.Equal("abc"u8.ToArray(), read.Buffer.ToArray());
        Assert.Equal(new byte[16], memory);
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Bytes_BehindTheExpected_AreNotInTheMemory(TransportKind kind)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        await using ConnectionPair pair = await peer.ConnectAsync();
        byte[] memory = new byte[MemoryBytes];
        ValueTask<ReadResult> reading = Direct(pair).ReadAsync(memory, 5);

        await pair.Client.SendAllAsync("abcdefgh"u8.ToArray());
        ReadResult read = await reading.InTime();
        byte[] received = read.Buffer.ToArray();
        pair.Input.AdvanceTo(read.Buffer.End);
        while (received.Length < 8)
        {
            read = await pair.Input.ReadAsync().InTime();
            received = [.. received, .. read.Buffer.ToArray()];
            pair.Input.AdvanceTo(read.Buffer.End);
        }

        Assert.Equal("abcdefgh"u8.ToArray(), received);
        Assert.All(memory[5..], value => Assert.Equal(0, value));
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Reader_ThatPausesInABody_HoldsThePeerBack(TransportKind kind)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        await using ConnectionPair pair = await peer.ConnectAsync();
        byte[] sent = Payload.Of(50_000_000);
        byte[] memory = new byte[MemoryBytes];
        Task sending = pair.Client.SendAllAsync(sent);
        long read = await ReadSomeAsync(pair, memory, sent.Length);

        // The kernel's buffers hold less than all of it, and nothing of ours holds more.
        await Assert.ThrowsAsync<TimeoutException>(() => sending.WaitAsync(TimeSpan.FromMilliseconds(300)));
        (byte[] rest, _) = await ReadBodyAsync(pair.Server, sent.Length - read);

        await sending.InTime();
        Payload.AssertEqual(sent[(int)read..], rest);
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Read_ThatIsCancelled_GivesTheMemoryBackAndLosesNothing(TransportKind kind)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        await using ConnectionPair pair = await peer.ConnectAsync();
        byte[] memory = new byte[MemoryBytes];
        for (int round = 0; round < 20; round++)
        {
            ValueTask<ReadResult> reading = Direct(pair).ReadAsync(memory, 1_000_000);
            await LentAsync(peer);
            pair.Input.CancelPendingRead();
            ReadResult read = await reading.InTime();
            Assert.True(read.IsCanceled && read.Buffer.IsEmpty);
            pair.Input.AdvanceTo(read.Buffer.Start);
        }

        await pair.Client.SendAllAsync("abc"u8.ToArray());
        ReadResult next = await pair.Input.ReadAsync().InTime();

        Assert.Equal("abc"u8.ToArray(), next.Buffer.ToArray());
        Assert.Equal(new byte[MemoryBytes], memory);
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Abort_WhileTheMemoryIsLent_EndsTheReadWhenItIsBack(TransportKind kind)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        await using ConnectionPair pair = await peer.ConnectAsync();
        byte[] memory = new byte[MemoryBytes];
        ValueTask<ReadResult> reading = Direct(pair).ReadAsync(memory, 1_000_000);
        await LentAsync(peer);

        pair.Server.Abort(new ConnectionAbortedException("test"));

        await Assert.ThrowsAsync<ConnectionAbortedException>(() => reading.AsTask().InTime());
        await pair.Client.AssertResetAsync();
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Peer_ThatEndsInABody_IsReadToItsEnd(TransportKind kind)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        await using ConnectionPair pair = await peer.ConnectAsync();
        ValueTask<ReadResult> reading = Direct(pair).ReadAsync(new byte[MemoryBytes], 1_000_000);
        await LentAsync(peer);

        pair.Client.Shutdown(SocketShutdown.Send);

        Assert.True((await reading.InTime()).IsCompleted);
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Peer_ThatResetsInABody_FailsTheRead(TransportKind kind)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        await using ConnectionPair pair = await peer.ConnectAsync();
        ValueTask<ReadResult> reading = Direct(pair).ReadAsync(new byte[MemoryBytes], 1_000_000);
        await LentAsync(peer);

        pair.Client.Reset();

        await Assert.ThrowsAsync<ConnectionResetException>(() => reading.AsTask().InTime());
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Connection_AfterABody_HearsOfThePeersEnd(TransportKind kind)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        await using ConnectionPair pair = await peer.ConnectAsync();
        byte[] sent = Payload.Of(200_000);
        Task sending = pair.Client.SendAllAsync(sent);
        await ReadBodyAsync(pair.Server, sent.Length);
        await sending.InTime();
        TaskCompletionSource ended = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using CancellationTokenRegistration registration = pair.Server.ConnectionClosed.Register(ended.SetResult);

        pair.Client.Shutdown(SocketShutdown.Send);

        await ended.Task.InTime();
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Reads_OfBothKindsWithCancellations_LoseAndRepeatNothing(TransportKind kind)
    {
        int seed = Random.Shared.Next();
        TestContext.Current.TestOutputHelper!.WriteLine($"seed {seed}");
        Random random = new(seed);
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        await using ConnectionPair pair = await peer.ConnectAsync();
        byte[] sent = Payload.Of(4_000_000, seed);
        Task sending = SendInPiecesAsync(pair.Client, sent, new Random(seed));
        using MemoryStream received = new();
        while (received.Length < sent.Length)
        {
            byte[] memory = new byte[random.Next(1, 2 * MemoryBytes)];
            ValueTask<ReadResult> reading = random.Next(4) == 0
                ? pair.Input.ReadAsync()
                : Direct(pair).ReadAsync(memory, random.Next(1, (int)(sent.Length - received.Length) + 1));
            Task<ReadResult> task = reading.AsTask();
            if (random.Next(3) == 0)
            {
                pair.Input.CancelPendingRead();
            }

            ReadResult read = await task.InTime();
            ReadOnlySequence<byte> taken = read.Buffer.Slice(0, random.Next(3) == 0 ? read.Buffer.Length / 2 : read.Buffer.Length);
            foreach (ReadOnlyMemory<byte> part in taken)
            {
                received.Write(part.Span);
            }

            pair.Input.AdvanceTo(taken.End);
        }

        await sending.InTime();
        Payload.AssertEqual(sent, received.ToArray());
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Receive_ThatTheKernelRefuses_IsTriedAgainIntoTheSameMemory(TransportKind kind)
    {
        foreach (Errno error in (Errno[])[Errno.EINTR, Errno.ENOMEM, Errno.EAGAIN, Errno.ECANCELED])
        {
            using FaultKernel kernel = new();
            await using OutgoingPeer peer = OutgoingPeer.Start(kind, kernel: kernel);
            await using ConnectionPair pair = await peer.ConnectAsync();
            byte[] memory = new byte[MemoryBytes];
            ValueTask<ReadResult> first = Direct(pair).ReadAsync(memory, 1_000_000);
            await pair.Client.SendAllAsync("abc"u8.ToArray());
            pair.Input.AdvanceTo((await first.InTime()).Buffer.End);

            Fault fault = kernel.Inject(OperationKind.Receive, error);
            ValueTask<ReadResult> second = Direct(pair).ReadAsync(memory, 1_000_000);
            await fault.SpentAsync();
            await pair.Client.SendAllAsync("def"u8.ToArray());

            Assert.Equal("def"u8.ToArray(), (await second.InTime()).Buffer.ToArray());
        }
    }

    [Fact]
    public async Task Memory_LentWhenTheLoopChangesHands_IsFilledByTheNextThread()
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(TransportKind.Adaptive);
        await using ConnectionPair pair = await peer.ConnectAsync();
        byte[] memory = new byte[MemoryBytes];
        for (int round = 0; round < 20; round++)
        {
            ValueTask<ReadResult> reading = Direct(pair).ReadAsync(memory, 1_000_000);
            await LentAsync(peer);
            using BlockingCall call = new();
            pair.Server.Features.Get<IConnectionSchedulerFeature>()!.Schedule([call]);
            await call.Entered.InTime();

            await pair.Client.SendAllAsync("abc"u8.ToArray());
            ReadResult read = await reading.InTime();

            Assert.Equal("abc"u8.ToArray(), read.Buffer.ToArray());
            Assert.True(read.Buffer.FirstSpan.Overlaps(memory), "It was received elsewhere.");
            pair.Input.AdvanceTo(read.Buffer.End);
            call.Release();
            await call.Left.InTime();
        }
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Loop_BreaksWhileMemoryIsLent_KernelLetsGoOfItBeforeTheReadEnds(TransportKind kind)
    {
        using FaultKernel kernel = new();
        await using OutgoingPeer peer = OutgoingPeer.Start(kind, kernel: kernel);
        await using ConnectionPair pair = await peer.ConnectAsync();
        ValueTask<ReadResult> reading = Direct(pair).ReadAsync(new byte[MemoryBytes], 1_000_000);
        await LentAsync(peer);
        int cancellations = 0;
        kernel.OnRegister = opcode =>
        {
            cancellations += opcode == RegisterOpcode.SyncCancel ? 1 : 0;
            return null;
        };
        kernel.OnEnter = _ => FaultKernel.Failure(Errno.EBADR);

        await Assert.ThrowsAsync<IOException>(() => peer.ConnectOnlyAsync()); // Wakes the loop.

        await Assert.ThrowsAsync<IoUringException>(() => reading.AsTask().InTime());
        Assert.Equal(1, cancellations);
    }

    private static IDirectReceiveFeature Direct(ConnectionPair pair) => pair.Server.Features.Get<IDirectReceiveFeature>()!;

    /// <summary>A turn of the loop after the read began, which has armed its receive.</summary>
    private static async Task LentAsync(OutgoingPeer peer)
    {
        await using ConnectionPair other = await peer.ConnectAsync();
        await other.AssertWorksAsync();
    }

    private static async Task<long> ReadSomeAsync(ConnectionPair pair, byte[] memory, long expected)
    {
        ReadResult read = await Direct(pair).ReadAsync(memory, expected).InTime();
        long length = read.Buffer.Length;
        pair.Input.AdvanceTo(read.Buffer.End);
        return length;
    }

    private static async Task<(byte[] Received, long InPlace)> ReadBodyAsync(ConnectionContext connection, long length)
    {
        IDirectReceiveFeature direct = connection.Features.Get<IDirectReceiveFeature>()!;
        using MemoryStream received = new();
        byte[] memory = new byte[MemoryBytes];
        long inPlace = 0;
        while (received.Length < length)
        {
            ReadResult read = await direct.ReadAsync(memory, length - received.Length).InTime();
            Assert.False(read.IsCompleted && read.Buffer.IsEmpty, "The connection ended.");
            foreach (ReadOnlyMemory<byte> part in read.Buffer)
            {
                inPlace += part.Span.Overlaps(memory) ? part.Length : 0;
                received.Write(part.Span);
            }

            connection.Transport.Input.AdvanceTo(read.Buffer.End);
        }

        return (received.ToArray(), inPlace);
    }

    private static async Task SendInPiecesAsync(Socket client, byte[] bytes, Random random)
    {
        for (int at = 0; at < bytes.Length;)
        {
            int length = Math.Min(random.Next(1, 40_000), bytes.Length - at);
            await client.SendAllAsync(bytes.AsMemory(at, length));
            at += length;
            if (random.Next(4) == 0)
            {
                await Task.Yield();
            }
        }
    }
}
