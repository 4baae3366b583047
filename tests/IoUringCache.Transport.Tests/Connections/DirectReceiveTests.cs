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
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Transport.Tests.Connections;

/// <summary>Bodies that are received into memory or a pipe of the application, and its way back in every end.</summary>
public sealed class DirectReceiveTests
{
    /// <summary>Each scheduling, with memory and with a pipe.</summary>
    public static TheoryData<TransportKind, bool> Targets => Transports.IoUringWith([false, true]);

    [Theory]
    [MemberData(nameof(Targets))]
    public async Task Body_LongerThanTheTarget_ArrivesAndMostOfItInPlace(TransportKind kind, bool isPipe)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        await using ConnectionPair pair = await peer.ConnectAsync();
        byte[] sent = Payload.Of(3_000_001);

        using ReceiveTarget target = new(isPipe);
        Task sending = pair.Client.SendAllAsync(sent);
        byte[] received = await ReadBodyAsync(pair, target, sent.Length);

        await sending.InTime();
        Payload.AssertEqual(sent, received);
        Assert.True(target.BytesInPlace > sent.Length / 2, $"{target.BytesInPlace} of {sent.Length} bytes were received in place.");
    }

    [Theory]
    [MemberData(nameof(Targets))]
    public async Task Body_WhoseBytesHaveCome_IsReadFromWhereTheyAre(TransportKind kind, bool isPipe)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        await using ConnectionPair pair = await peer.ConnectAsync();
        await pair.Client.SendAllAsync("abc"u8.ToArray());
        ReadResult first = await pair.Input.ReadAsync().InTime();
        pair.Input.AdvanceTo(first.Buffer.Start);
        using ReceiveTarget target = new(isPipe);

        ReadResult read = await target.ReadAsync(pair, 100).InTime();

        Assert.Equal("abc"u8.ToArray(), target.Take(pair, read));
        Assert.Equal(0, target.BytesInPlace);
    }

    [Theory]
    [MemberData(nameof(Targets))]
    public async Task Bytes_BehindTheExpected_AreNotInPlace(TransportKind kind, bool isPipe)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        await using ConnectionPair pair = await peer.ConnectAsync();
        using ReceiveTarget target = new(isPipe);
        ValueTask<ReadResult> reading = target.ReadAsync(pair, 5);

        await pair.Client.SendAllAsync("abcdefgh"u8.ToArray());
        byte[] received = target.Take(pair, await reading.InTime());
        while (received.Length < 8)
        {
            received = [.. received, .. target.Take(pair, await pair.Input.ReadAsync().InTime())];
        }

        Assert.Equal("abcdefgh"u8.ToArray(), received);
        Assert.InRange(target.BytesInPlace, 0, 5);
    }

    [Theory]
    [MemberData(nameof(Targets))]
    public async Task Reader_ThatPausesInABody_HoldsThePeerBack(TransportKind kind, bool isPipe)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        await using ConnectionPair pair = await peer.ConnectAsync();
        byte[] sent = Payload.Of(50_000_000);
        using ReceiveTarget target = new(isPipe);
        Task sending = pair.Client.SendAllAsync(sent);
        byte[] first = target.Take(pair, await target.ReadAsync(pair, sent.Length).InTime());

        // The kernel's buffers hold less than all of it, and nothing of ours holds more.
        await Assert.ThrowsAsync<TimeoutException>(() => sending.WaitAsync(TimeSpan.FromMilliseconds(300)));
        byte[] rest = await ReadBodyAsync(pair, target, sent.Length - first.Length);

        await sending.InTime();
        Payload.AssertEqual(sent, [.. first, .. rest]);
    }

    [Theory]
    [MemberData(nameof(Targets))]
    public async Task Read_ThatIsCancelled_GivesTheTargetBackAndLosesNothing(TransportKind kind, bool isPipe)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        await using ConnectionPair pair = await peer.ConnectAsync();
        using ReceiveTarget target = new(isPipe);
        for (int round = 0; round < 20; round++)
        {
            ValueTask<ReadResult> reading = target.ReadAsync(pair, 1_000_000);
            await LentAsync(peer);
            pair.Input.CancelPendingRead();
            ReadResult read = await reading.InTime();
            Assert.True(read.IsCanceled);
            Assert.Empty(target.Take(pair, read));
        }

        await pair.Client.SendAllAsync("abc"u8.ToArray());
        ReadResult next = await pair.Input.ReadAsync().InTime();

        Assert.Equal("abc"u8.ToArray(), target.Take(pair, next));
        Assert.Equal(0, target.BytesInPlace);
    }

    [Theory]
    [MemberData(nameof(Targets))]
    public async Task Abort_WhileTheTargetIsLent_EndsTheReadWhenItIsBack(TransportKind kind, bool isPipe)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        await using ConnectionPair pair = await peer.ConnectAsync();
        using ReceiveTarget target = new(isPipe);
        ValueTask<ReadResult> reading = target.ReadAsync(pair, 1_000_000);
        await LentAsync(peer);

        pair.Server.Abort(new ConnectionAbortedException("test"));

        await Assert.ThrowsAsync<ConnectionAbortedException>(() => reading.AsTask().InTime());
        await pair.Client.AssertResetAsync();
    }

    [Theory]
    [MemberData(nameof(Targets))]
    public async Task Peer_ThatEndsInABody_IsReadToItsEnd(TransportKind kind, bool isPipe)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        await using ConnectionPair pair = await peer.ConnectAsync();
        using ReceiveTarget target = new(isPipe);
        ValueTask<ReadResult> reading = target.ReadAsync(pair, 1_000_000);
        await LentAsync(peer);

        pair.Client.Shutdown(SocketShutdown.Send);

        Assert.True((await reading.InTime()).IsCompleted);
    }

    [Theory]
    [MemberData(nameof(Targets))]
    public async Task Peer_ThatResetsInABody_FailsTheRead(TransportKind kind, bool isPipe)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        await using ConnectionPair pair = await peer.ConnectAsync();
        using ReceiveTarget target = new(isPipe);
        ValueTask<ReadResult> reading = target.ReadAsync(pair, 1_000_000);
        await LentAsync(peer);

        pair.Client.Reset();

        await Assert.ThrowsAsync<ConnectionResetException>(() => reading.AsTask().InTime());
    }

    [Theory]
    [MemberData(nameof(Targets))]
    public async Task Connection_AfterABody_HearsOfThePeersEnd(TransportKind kind, bool isPipe)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        await using ConnectionPair pair = await peer.ConnectAsync();
        byte[] sent = Payload.Of(200_000);
        using ReceiveTarget target = new(isPipe);
        Task sending = pair.Client.SendAllAsync(sent);
        await ReadBodyAsync(pair, target, sent.Length);
        await sending.InTime();
        TaskCompletionSource ended = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using CancellationTokenRegistration registration = pair.Server.ConnectionClosed.Register(ended.SetResult);

        pair.Client.Shutdown(SocketShutdown.Send);

        await ended.Task.InTime();
    }

    [Theory]
    [MemberData(nameof(Targets))]
    public async Task Reads_OfBothKindsWithCancellations_LoseAndRepeatNothing(TransportKind kind, bool isPipe)
    {
        int seed = Random.Shared.Next();
        TestContext.Current.TestOutputHelper!.WriteLine($"seed {seed}");
        Random random = new(seed);
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        await using ConnectionPair pair = await peer.ConnectAsync();
        byte[] sent = Payload.Of(4_000_000, seed);
        Task sending = SendInPiecesAsync(pair.Client, sent, new Random(seed));
        using ReceiveTarget target = new(isPipe, random.Next(1, 2 * ReceiveTarget.MemoryBytes));
        using MemoryStream received = new();
        while (received.Length < sent.Length)
        {
            ValueTask<ReadResult> reading = random.Next(4) == 0
                ? pair.Input.ReadAsync()
                : target.ReadAsync(pair, random.Next(1, (int)(sent.Length - received.Length) + 1));
            Task<ReadResult> task = reading.AsTask();
            if (random.Next(3) == 0)
            {
                pair.Input.CancelPendingRead();
            }

            received.Write(target.Take(pair, await task.InTime(), takesHalf: random.Next(3) == 0));
        }

        await sending.InTime();
        Payload.AssertEqual(sent, received.ToArray());
    }

    [Theory]
    [MemberData(nameof(Targets))]
    public async Task Receive_ThatTheKernelRefuses_IsTriedAgainWithTheSameTarget(TransportKind kind, bool isPipe)
    {
        foreach (Errno error in (Errno[])[Errno.EINTR, Errno.ENOMEM, Errno.EAGAIN, Errno.ECANCELED])
        {
            using FaultKernel kernel = new();
            await using OutgoingPeer peer = OutgoingPeer.Start(kind, kernel: kernel);
            await using ConnectionPair pair = await peer.ConnectAsync();
            using ReceiveTarget target = new(isPipe);
            ValueTask<ReadResult> first = target.ReadAsync(pair, 1_000_000);
            await pair.Client.SendAllAsync("abc"u8.ToArray());
            target.Take(pair, await first.InTime());

            Fault fault = kernel.Inject(OperationKind.Receive, error);
            ValueTask<ReadResult> second = target.ReadAsync(pair, 1_000_000);
            await fault.SpentAsync();
            await pair.Client.SendAllAsync("def"u8.ToArray());

            Assert.Equal("def"u8.ToArray(), target.Take(pair, await second.InTime()));
        }
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Target_LentWhenTheLoopChangesHands_IsFilledByTheNextThread(bool isPipe)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(TransportKind.Adaptive);
        await using ConnectionPair pair = await peer.ConnectAsync();
        using ReceiveTarget target = new(isPipe);
        for (int round = 0; round < 20; round++)
        {
            ValueTask<ReadResult> reading = target.ReadAsync(pair, 1_000_000);
            await LentAsync(peer);
            using BlockingCall call = new();
            pair.Server.Features.Get<IConnectionSchedulerFeature>()!.Schedule([call]);
            await call.Entered.InTime();

            await pair.Client.SendAllAsync("abc"u8.ToArray());

            Assert.Equal("abc"u8.ToArray(), target.Take(pair, await reading.InTime()));
            Assert.Equal((round + 1) * 3, target.BytesInPlace);
            call.Release();
            await call.Left.InTime();
        }
    }

    [Theory]
    [MemberData(nameof(Targets))]
    public async Task Loop_BreaksWhileTheTargetIsLent_KernelLetsGoOfItBeforeTheReadEnds(TransportKind kind, bool isPipe)
    {
        using FaultKernel kernel = new();
        await using OutgoingPeer peer = OutgoingPeer.Start(kind, kernel: kernel);
        await using ConnectionPair pair = await peer.ConnectAsync();
        using ReceiveTarget target = new(isPipe);
        ValueTask<ReadResult> reading = target.ReadAsync(pair, 1_000_000);
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

    [Theory]
    [MemberData(nameof(Transports.IoUring), MemberType = typeof(Transports))]
    public async Task Pipe_ThatIsFull_LeavesTheBytesToTheResult(TransportKind kind)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        await using ConnectionPair pair = await peer.ConnectAsync();
        byte[] sent = Payload.Of(3_000_000);
        using ReceiveTarget target = new(isPipe: true);
        Task sending = pair.Client.SendAllAsync(sent);
        List<byte> piped = [];
        for (int at = 0; at < sent.Length;)
        {
            ReadResult read = await target.ReadAsync(pair, sent.Length - at).InTime();
            byte[] newInPipe = sent[at..(at + target.Pipe!.Length - piped.Count)];
            piped.AddRange(newInPipe);
            at += newInPipe.Length;
            byte[] inResult = read.Buffer.ToArray();
            Payload.AssertEqual(sent[at..(at + inResult.Length)], inResult);
            at += inResult.Length;
            pair.Input.AdvanceTo(read.Buffer.End);
        }

        await sending.InTime();
        Assert.InRange(piped.Count, 1, sent.Length - 1);
        Payload.AssertEqual([.. piped], target.TakePiped());
    }

    [Theory]
    [MemberData(nameof(Transports.IoUring), MemberType = typeof(Transports))]
    public async Task Pipe_ThatIsDisposed_LeavesTheBytesToTheResult(TransportKind kind)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        await using ConnectionPair pair = await peer.ConnectAsync();
        using ReceiveTarget target = new(isPipe: true);
        target.Dispose();
        ValueTask<ReadResult> reading = target.ReadAsync(pair, 1_000_000);
        await LentAsync(peer);

        await pair.Client.SendAllAsync("abc"u8.ToArray());

        Assert.Equal("abc"u8.ToArray(), (await reading.InTime()).Buffer.ToArray());
    }

    [Theory]
    [MemberData(nameof(Targets))]
    public async Task Body_WithUrgentDataInBetween_IsWholeWithoutIt(TransportKind kind, bool isPipe)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        await using ConnectionPair pair = await peer.ConnectAsync();
        using ReceiveTarget target = new(isPipe);
        for (int round = 0; round < 100; round++)
        {
            ValueTask<ReadResult> reading = target.ReadAsync(pair, 6);
            await pair.Client.SendAllAsync("abc"u8.ToArray());
            await pair.Client.SendAsync("!"u8.ToArray(), SocketFlags.OutOfBand).InTime();
            await pair.Client.SendAllAsync("def"u8.ToArray());
            byte[] first = target.Take(pair, await reading.InTime());
            byte[] rest = await ReadBodyAsync(pair, target, 6 - first.Length);

            Assert.Equal("abcdef"u8.ToArray(), first.Concat(rest));
        }
    }

    /// <summary>A turn of the loop after the read began, which has armed its receive.</summary>
    private static async Task LentAsync(OutgoingPeer peer)
    {
        await using ConnectionPair other = await peer.ConnectAsync();
        await other.AssertWorksAsync();
    }

    private static async Task<byte[]> ReadBodyAsync(ConnectionPair pair, ReceiveTarget target, long length)
    {
        using MemoryStream received = new();
        while (received.Length < length)
        {
            ReadResult read = await target.ReadAsync(pair, length - received.Length).InTime();
            byte[] bytes = target.Take(pair, read);
            Assert.False(read.IsCompleted && bytes.Length == 0, "The connection ended.");
            received.Write(bytes);
        }

        return received.ToArray();
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
