using System.Net;
using System.Net.Sockets;
using IoUringCache.Ring.Native;
using IoUringCache.Ring.Tests.Support;

namespace IoUringCache.Ring.Tests;

public sealed class SocketOperationTests : RingTest
{
    private const int Seed = 20261121;
    private const ushort Group = 3;

    [Fact]
    public void Accept_SeveralClients_TakesOne()
    {
        using KernelRing ring = CreateRing();
        using Socket listener = SocketPair.Listen();
        using Socket first = SocketPair.Connect(listener);
        using Socket second = SocketPair.Connect(listener);

        ring.Submissions.PrepareAccept((int)listener.Handle, Tag(1));
        Completion accepted = ReapOne(ring);

        Assert.Equal((false, false), (accepted.IsError, accepted.HasMore));
        SocketDescriptor.Close(accepted.Result);
        Assert.Equal(0, first.Receive(new byte[1]));
        SubmitQuietly(ring);
    }

    [Fact]
    public void AcceptMultishot_SeveralClients_CompletesOncePerClient()
    {
        using KernelRing ring = CreateRing();
        using Socket listener = SocketPair.Listen();
        ring.Submissions.PrepareAcceptMultishot((int)listener.Handle, Tag(1));
        SubmitQuietly(ring);

        for (int client = 0; client < 5; client++)
        {
            using Socket socket = SocketPair.Connect(listener);
            Completion accepted = ReapOne(ring);
            Assert.False(accepted.IsError);
            Assert.True(accepted.HasMore);
            SocketDescriptor.Close(accepted.Result);
            Assert.Equal(0, socket.Receive(new byte[1]));
        }

        ring.Submissions.PrepareCancel(Tag(1), Tag(2));
        Completion last = Reap(ring, 2).Single(completion => completion.UserData == Tag(1));
        Assert.Equal((Errno.ECANCELED, false), (last.Error, last.HasMore));
    }

    [Fact]
    public void Connect_ToAListener_CompletesWithZero()
    {
        using KernelRing ring = CreateRing();
        using Socket listener = SocketPair.Listen();
        int socket = SocketDescriptor.OpenStream(AddressOf(listener));

        ring.Submissions.PrepareConnect(socket, AddressOf(listener), Tag(1));
        Completion connected = ReapOne(ring);

        Assert.Equal((0, false), (connected.Result, connected.HasMore));
        using Socket far = listener.Accept();
        SocketDescriptor.Close(socket);
        Assert.Equal(0, far.Receive(new byte[1]));
    }

    [Fact]
    public void Connect_ToAPortWithoutListener_IsRefused()
    {
        using KernelRing ring = CreateRing();
        using Socket bound = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        bound.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        int socket = SocketDescriptor.OpenStream(AddressOf(bound));

        ring.Submissions.PrepareConnect(socket, AddressOf(bound), Tag(1));

        Assert.Equal(Errno.ECONNREFUSED, ReapOne(ring).Error);
        SocketDescriptor.Close(socket);
    }

    /// <summary>More connects than entries: each address must stay until the kernel has it.</summary>
    [Fact]
    public void Connect_ManyInOneQueue_EachReachesItsOwnAddress()
    {
        const int Count = 40;
        using KernelRing ring = CreateRing(submissionEntries: 8);
        Socket[] listeners = [.. Enumerable.Range(0, Count).Select(_ => SocketPair.Listen())];
        int[] sockets = [.. listeners.Select(listener => SocketDescriptor.OpenStream(AddressOf(listener)))];
        for (int i = 0; i < Count; i++)
        {
            ring.Submissions.PrepareConnect(sockets[i], AddressOf(listeners[i]), Tag(i));
        }

        Assert.All(Reap(ring, Count), connected => Assert.Equal(0, connected.Result));
        byte[] peer = new byte[SubmissionQueue.MaxSocketAddressBytes];
        for (int i = 0; i < Count; i++)
        {
            Assert.Equal(AddressOf(listeners[i]), peer[..SocketDescriptor.GetPeerName(sockets[i], peer)]);
            SocketDescriptor.Close(sockets[i]);
            listeners[i].Dispose();
        }
    }

    [Fact]
    public void Connect_WithoutAnAnswer_IsCancelled()
    {
        using KernelRing ring = CreateRing();
        using Socket listener = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        listener.Listen(0);
        using Socket queued = SocketPair.Connect(listener); // The queue is full: the kernel drops further requests.
        int socket = SocketDescriptor.OpenStream(AddressOf(listener));
        ring.Submissions.PrepareConnect(socket, AddressOf(listener), Tag(1));
        SubmitQuietly(ring);

        ring.Submissions.PrepareCancel(Tag(1), Tag(2));

        Assert.Equal(Errno.ECANCELED, Reap(ring, 2).Single(completion => completion.UserData == Tag(1)).Error);
        SocketDescriptor.Close(socket);
    }

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(SubmissionQueue.MaxSocketAddressBytes + 1)]
    public void Connect_AddressOfAnotherLength_IsRefusedByName(int length)
    {
        using KernelRing ring = CreateRing();

        Assert.Throws<ArgumentOutOfRangeException>("socketAddress", () => ring.Submissions.PrepareConnect(0, new byte[length], Tag(1)));

        SubmitQuietly(ring);
    }

    [Fact]
    public void ReceiveMultishot_SeveralMessages_EachInABufferAndZeroAtTheEnd()
    {
        using KernelRing ring = CreateRing();
        using SocketPair pair = new();
        ProvidedBufferRing buffers = ring.RegisterBuffers(Group, count: 4, size: 64);
        ring.Submissions.PrepareReceiveMultishot(pair.Descriptor, Group, Tag(1));
        SubmitQuietly(ring);

        for (int message = 0; message < 20; message++)
        {
            byte[] payload = PinnedPattern(length: 1 + message, Seed + message);
            pair.Far.Send(payload);

            Completion received = ReapOne(ring);

            Assert.True(received.HasMore);
            Assert.True(received.HasBuffer);
            Memory<byte> buffer = buffers.Acquire(received.BufferId);
            Assert.Equal(64, buffer.Length);
            Assert.Equal(payload, buffer[..received.Result].ToArray());
            buffers.Release(received.BufferId);
        }

        pair.Far.Shutdown(SocketShutdown.Send);
        Completion end = ReapOne(ring);
        Assert.Equal((0, false, false), (end.Result, end.HasMore, end.HasBuffer));
    }

    [Theory]
    [InlineData(1)]
    [InlineData(1000)]
    [InlineData(8 * 1024 * 1024)]
    public void Send_AnyLength_ArrivesWholeInOneCompletion(int length)
    {
        using KernelRing ring = CreateRing();
        using SocketPair pair = new();
        byte[] payload = PinnedPattern(length, Seed);
        Task<byte[]> arrival = pair.ReadFarAsync(length);

        ring.Submissions.PrepareSend(pair.Descriptor, payload, Tag(1));
        Completion sent = ReapOne(ring);

        Assert.Equal(length, sent.Result);
        Assert.Equal(payload, Arrived(arrival));
    }

    [Fact]
    public void Send_PartOfAnArray_SendsThatPart()
    {
        using KernelRing ring = CreateRing();
        using SocketPair pair = new();
        byte[] payload = PinnedPattern(100, Seed);
        Task<byte[]> arrival = pair.ReadFarAsync(20);

        ring.Submissions.PrepareSend(pair.Descriptor, payload.AsMemory(30, 20), Tag(1));

        Assert.Equal(20, ReapOne(ring).Result);
        Assert.Equal(payload[30..50], Arrived(arrival));
    }

    [Theory]
    [InlineData(1, 10)]
    [InlineData(2, 4096)]
    [InlineData(64, 7)]
    [InlineData(64, 100_000)]
    public void SendGather_AnySegments_ArriveInOrder(int segments, int segmentBytes)
    {
        using KernelRing ring = CreateRing();
        using SocketPair pair = new();
        byte[] payload = PinnedPattern(segments * segmentBytes, Seed);
        ReadOnlyMemory<byte>[] pieces =
            [.. Enumerable.Range(0, segments).Select(index => (ReadOnlyMemory<byte>)payload.AsMemory(index * segmentBytes, segmentBytes))];
        Task<byte[]> arrival = pair.ReadFarAsync(payload.Length);

        ring.Submissions.PrepareSendGather(pair.Descriptor, pieces, Tag(1));
        Array.Clear(pieces);

        Assert.Equal(payload.Length, ReapOne(ring).Result);
        Assert.Equal(payload, Arrived(arrival));
    }

    [Fact]
    public void SendGather_ManySocketsInOneSubmission_EachGetsItsOwnBytes()
    {
        const int Sockets = 10;
        const int SegmentBytes = 500;

        // More operations than slots: the parameters of a slot must not change before the kernel has consumed its
        // entry.
        using KernelRing ring = CreateRing(submissionEntries: 4, completionEntries: 32);
        SocketPair[] pairs = [.. Enumerable.Range(0, Sockets).Select(_ => new SocketPair())];
        byte[][] payloads = [.. Enumerable.Range(0, Sockets).Select(index => PinnedPattern(2 * SegmentBytes, Seed + index))];
        for (int index = 0; index < Sockets; index++)
        {
            ring.Submissions.PrepareSendGather(
                pairs[index].Descriptor,
                [payloads[index].AsMemory(0, SegmentBytes), payloads[index].AsMemory(SegmentBytes)],
                Tag(index));
        }

        Assert.All(Reap(ring, Sockets), sent => Assert.Equal(2 * SegmentBytes, sent.Result));
        for (int index = 0; index < Sockets; index++)
        {
            Assert.Equal(payloads[index], Arrived(pairs[index].ReadFarAsync(2 * SegmentBytes)));
            pairs[index].Dispose();
        }
    }

    [Fact]
    public void SendGather_NoSegmentOrTooMany_IsRefused()
    {
        using KernelRing ring = CreateRing();
        ReadOnlyMemory<byte>[] tooMany = new ReadOnlyMemory<byte>[SubmissionQueue.MaxGatherSegments + 1];

        Assert.Throws<ArgumentOutOfRangeException>("pinned", () => ring.Submissions.PrepareSendGather(0, [], Tag(1)));
        Assert.Throws<ArgumentOutOfRangeException>("pinned", () => ring.Submissions.PrepareSendGather(0, tooMany, Tag(1)));
        Assert.Equal(0, ring.Submissions.PendingCount);
    }

    [Fact]
    public void Send_PeerHasReset_FailsWithoutASignal()
    {
        using KernelRing ring = CreateRing();
        using SocketPair pair = new();
        SocketDescriptor.ShutdownSend(pair.Descriptor);

        ring.Submissions.PrepareSend(pair.Descriptor, PinnedPattern(10, Seed), Tag(1));

        Assert.Equal(Errno.EPIPE, ReapOne(ring).Error);
    }

    [Fact]
    public void Cancel_SendToAPeerThatDoesNotRead_EndsIt()
    {
        using KernelRing ring = CreateRing();
        using SocketPair pair = new();
        byte[] payload = GC.AllocateArray<byte>(64 * 1024 * 1024, pinned: true);
        ring.Submissions.PrepareSend(pair.Descriptor, payload, Tag(1));
        SubmitQuietly(ring);
        ring.Submissions.PrepareCancel(Tag(1), Tag(2));

        List<Completion> completions = Reap(ring, 2);

        // The bytes sent before the cancel are reported, so the caller knows that the stream is incomplete.
        Completion sent = completions.Single(completion => completion.UserData == Tag(1));
        Assert.True(sent.Error == Errno.ECANCELED || (sent.Result > 0 && sent.Result < payload.Length), $"The send gave {sent.Result}.");
    }

    [Fact]
    public void Receive_Once_TakesWhatIsThereAndNoBufferBefore()
    {
        using KernelRing ring = CreateRing();
        using SocketPair pair = new();
        ProvidedBufferRing buffers = ring.RegisterBuffers(Group, count: 1, size: 64);
        ring.Submissions.PrepareReceive(pair.Descriptor, Group, Tag(1));
        SubmitQuietly(ring);

        // It waits without a buffer: another receive gets the only one.
        using SocketPair other = new();
        other.Far.Send("other"u8);
        ring.Submissions.PrepareReceive(other.Descriptor, Group, Tag(2));
        Completion received = ReapOne(ring);
        Assert.Equal((Tag(2), 5, false, true), (received.UserData, received.Result, received.HasMore, received.HasBuffer));
        buffers.Acquire(received.BufferId);
        buffers.Release(received.BufferId);

        byte[] payload = PinnedPattern(length: 64, Seed);
        pair.Far.Send(payload);
        received = ReapOne(ring);
        Assert.Equal((Tag(1), 64, false), (received.UserData, received.Result, received.HasMore));
        Assert.Equal(payload, buffers.Acquire(received.BufferId).ToArray());

        // The buffer is acquired, so the group is empty.
        pair.Far.Send(payload);
        ring.Submissions.PrepareReceive(pair.Descriptor, Group, Tag(3));
        Assert.Equal(Errno.ENOBUFS, ReapOne(ring).Error);
    }

    [Fact]
    public void Receive_IntoMemory_TakesNoMoreThanItHasRoomFor()
    {
        using KernelRing ring = CreateRing();
        using SocketPair pair = new();
        byte[] memory = GC.AllocateArray<byte>(4, pinned: true);
        pair.Far.Send("abcdef"u8);

        ring.Submissions.PrepareReceive(pair.Descriptor, memory.AsMemory(1), Tag(1));
        Completion received = ReapOne(ring);

        Assert.Equal((3, false, false), (received.Result, received.HasMore, received.HasBuffer));
        Assert.Equal("\0abc"u8.ToArray(), memory);
    }

    [Fact]
    public void TryCancelAll_OperationsWait_UsesTheirMemoryNoMore()
    {
        using KernelRing ring = CreateRing();
        using SocketPair pair = new();
        byte[] memory = GC.AllocateArray<byte>(16, pinned: true);
        ring.Submissions.PrepareReceive(pair.Descriptor, memory, Tag(1));
        ring.Submissions.PrepareSend(pair.Descriptor, GC.AllocateArray<byte>(64 * 1024 * 1024, pinned: true), Tag(2));
        SubmitQuietly(ring);

        Assert.True(ring.TryCancelAll());
        Assert.True(ring.TryCancelAll()); // Nothing is left.

        pair.Far.Send("abc"u8);
        List<Completion> ended = Reap(ring, 2);
        Assert.Equal(Errno.ECANCELED, ended.Single(completion => completion.UserData == Tag(1)).Error);
        Assert.Equal(new byte[16], memory);
    }

    [Fact]
    public void TryCancelAll_KernelIsTooOld_SaysSo()
    {
        FakeKernel kernel = new() { OnRegister = opcode => opcode == RegisterOpcode.SyncCancel ? FakeKernel.Failure(Errno.EINVAL) : null };
        using KernelRing ring = KernelRing.Create(kernel, new RingOptions());

        Assert.False(ring.TryCancelAll());
    }

    [Fact]
    public void Receive_CancelledByTag_EndsWithEcanceled()
    {
        using KernelRing ring = CreateRing();
        using SocketPair pair = new();
        ring.RegisterBuffers(Group, count: 2, size: 64);
        ring.Submissions.PrepareReceiveMultishot(pair.Descriptor, Group, Tag(1));
        SubmitQuietly(ring);
        ring.Submissions.PrepareCancel(Tag(1), Tag(2));

        Completion ended = Reap(ring, 2).Single(completion => completion.UserData == Tag(1));

        Assert.Equal((Errno.ECANCELED, false), (ended.Error, ended.HasMore));
    }

    private static byte[] Arrived(Task<byte[]> arrival)
    {
        Assert.True(((IAsyncResult)arrival).AsyncWaitHandle.WaitOne(Patience), "The bytes did not arrive.");
        return arrival.GetAwaiter().GetResult();
    }

    private static byte[] AddressOf(Socket socket)
    {
        SocketAddress address = socket.LocalEndPoint!.Serialize();
        return address.Buffer.Span[..address.Size].ToArray();
    }
}
