using System.Net.Sockets;
using IoUringCache.Ring.Tests.Support;

namespace IoUringCache.Ring.Tests;

/// <summary>A pipe moves bytes from socket to socket, never waits, and says why it moves nothing.</summary>
public sealed class KernelPipeTests : RingTest
{
    private const int Capacity = 64 * 1024;

    [Fact]
    public void Bytes_ThroughThePipe_ArriveInOrderAndSocketsStayBlocking()
    {
        using KernelRing ring = CreateRing();
        using SocketPair from = new();
        using SocketPair to = new();
        using KernelPipe pipe = KernelPipe.Create(Capacity);
        byte[] payload = PinnedPattern(1_000_000, seed: 1);
        Task<byte[]> arrival = to.ReadFarAsync(payload.Length);
        Task<bool> sending = SendFarAsync(from, payload);
        for (int moved = 0; moved < payload.Length;)
        {
            AwaitReadable(ring, from);
            int received = pipe.Receive(from.Descriptor, payload.Length);
            Assert.InRange(received, 1, payload.Length - moved);
            moved += received;
            SendAll(ring, pipe, to, received);
        }

        Assert.Equal(payload, ResultOf(arrival));
        Assert.True(ResultOf(sending));

        // A ring's operation waits only on a blocking socket.
        byte[] memory = GC.AllocateUninitializedArray<byte>(10, pinned: true);
        ring.Submissions.PrepareReceive(from.Descriptor, memory.AsMemory(), Tag(3));
        SubmitQuietly(ring);
        from.Far.Send([1]);
        Assert.Equal(1, ReapOne(ring).Result);
    }

    [Fact]
    public void Receive_OfNothing_SaysSo()
    {
        using SocketPair from = new();
        using KernelPipe pipe = KernelPipe.Create(Capacity);

        Assert.Equal(-(int)Errno.EAGAIN, pipe.Receive(from.Descriptor, 100));
    }

    [Fact]
    public void Receive_WhenThePeerHasEnded_IsZeroBehindItsBytes()
    {
        using KernelRing ring = CreateRing();
        using SocketPair from = new();
        using KernelPipe pipe = KernelPipe.Create(Capacity);
        from.Far.Send([1, 2, 3]);
        from.Far.Shutdown(SocketShutdown.Send);
        AwaitReadable(ring, from);

        Assert.Equal(3, pipe.Receive(from.Descriptor, 100));
        AwaitReadable(ring, from);
        Assert.Equal(0, pipe.Receive(from.Descriptor, 100));
    }

    [Fact]
    public void Receive_WhenThePeerHasReset_SaysSo()
    {
        using KernelRing ring = CreateRing();
        using SocketPair from = new();
        using KernelPipe pipe = KernelPipe.Create(Capacity);
        from.Far.LingerState = new LingerOption(enable: true, seconds: 0);
        from.Far.Close();
        AwaitReadable(ring, from);

        Assert.Equal(-(int)Errno.ECONNRESET, pipe.Receive(from.Descriptor, 100));
    }

    [Fact]
    public void Receive_IntoAFullPipe_SaysSoUntilBytesHaveLeft()
    {
        using KernelRing ring = CreateRing();
        using SocketPair from = new();
        using SocketPair to = new();
        using KernelPipe pipe = KernelPipe.Create(Capacity);
        byte[] payload = PinnedPattern(2_000_000, seed: 1);
        Task<bool> sending = SendFarAsync(from, payload);
        int held = 0;
        int result;
        do
        {
            AwaitReadable(ring, from);
            result = pipe.Receive(from.Descriptor, payload.Length);
            held += Math.Max(0, result);
        }
        while (result > 0);

        Assert.Equal(-(int)Errno.EAGAIN, result);
        Task<byte[]> arrival = to.ReadFarAsync(held);
        SendAll(ring, pipe, to, held);

        Assert.Equal(payload[..held], ResultOf(arrival));
        AwaitReadable(ring, from);
        Assert.InRange(pipe.Receive(from.Descriptor, payload.Length), 1, payload.Length);
        from.Near.Close();
        _ = ResultOf(sending); // Whether it had all been taken.
    }

    [Fact]
    public void Receive_BeforeUrgentData_SaysSoAndLeavesItToAnOrdinaryReceive()
    {
        using KernelRing ring = CreateRing();
        using SocketPair from = new();
        using KernelPipe pipe = KernelPipe.Create(Capacity);
        from.Far.Send("!"u8.ToArray(), SocketFlags.OutOfBand);
        from.Far.Send("abc"u8);
        AwaitReadable(ring, from);

        Assert.Equal(-(int)Errno.EAGAIN, pipe.Receive(from.Descriptor, 100));

        byte[] memory = GC.AllocateUninitializedArray<byte>(10, pinned: true);
        ring.Submissions.PrepareReceive(from.Descriptor, memory.AsMemory(), Tag(3));
        Assert.Equal(3, ReapOne(ring).Result);
        Assert.Equal("abc"u8.ToArray(), memory[..3]);
    }

    [Fact]
    public void Send_ToAPeerThatIsGone_FailsAndTheProcessLives()
    {
        using KernelRing ring = CreateRing();
        using SocketPair from = new();
        using KernelPipe pipe = KernelPipe.Create(Capacity);
        from.Far.Send([1, 2, 3]);
        AwaitReadable(ring, from);
        Assert.Equal(3, pipe.Receive(from.Descriptor, 100));
        (int near, int far) = SocketDescriptor.CreatePair();
        SocketDescriptor.Close(far);

        Assert.Equal(-(int)Errno.EPIPE, pipe.Send(near, 3));

        SocketDescriptor.Close(near);
    }

    [Fact]
    public void Pipe_ThatIsDisposed_MovesNothing()
    {
        using SocketPair pair = new();
        KernelPipe pipe = KernelPipe.Create(Capacity);
        pipe.Dispose();

        Assert.Equal(-(int)Errno.EBADF, pipe.Receive(pair.Descriptor, 100));
        Assert.Equal(-(int)Errno.EBADF, pipe.Send(pair.Descriptor, 100));
    }

    [Fact]
    public void Capacity_IsWhatTheSystemGrants()
    {
        using KernelPipe usual = KernelPipe.Create(200_000);
        using KernelPipe tooLarge = KernelPipe.Create(int.MaxValue);

        Assert.Equal(256 * 1024, usual.Capacity);
        Assert.InRange(tooLarge.Capacity, Environment.SystemPageSize, 1 << 30);
        Assert.Throws<ArgumentOutOfRangeException>(() => KernelPipe.Create(0));
    }

    private static T ResultOf<T>(Task<T> task)
    {
        Assert.True(task.Wait(Patience, TestContext.Current.CancellationToken), "It did not end in time.");
        return task.Result;
    }

    /// <summary>Sends from the peer on another thread; false if the connection broke.</summary>
    private static Task<bool> SendFarAsync(SocketPair pair, byte[] payload) => Task.Factory.StartNew(
        () =>
        {
            try
            {
                return pair.Far.Send(payload) == payload.Length;
            }
            catch (SocketException)
            {
                return false;
            }
        },
        TaskCreationOptions.LongRunning);

    private static void SendAll(KernelRing ring, KernelPipe pipe, SocketPair pair, int count)
    {
        for (int sent = 0; sent < count;)
        {
            ring.Submissions.PreparePollWritable(pair.Descriptor, Tag(2));
            Assert.False(ReapOne(ring).IsError);
            int result = pipe.Send(pair.Descriptor, count - sent);
            Assert.True(result > 0 || result == -(int)Errno.EAGAIN, $"The send gave {result}.");
            sent += Math.Max(0, result);
        }
    }

    private static void AwaitReadable(KernelRing ring, SocketPair pair)
    {
        ring.Submissions.PreparePollReadable(pair.Descriptor, Tag(1));
        Assert.False(ReapOne(ring).IsError);
    }
}
