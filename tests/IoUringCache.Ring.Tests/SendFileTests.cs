using IoUringCache.Ring.Files;
using IoUringCache.Ring.Tests.Support;

namespace IoUringCache.Ring.Tests;

/// <summary>SendFile sends what the send buffer takes, and a poll completes when it takes more.</summary>
public sealed class SendFileTests : RingTest
{
    private const int Large = 24 * 1024 * 1024;

    [Fact]
    public void SendFile_OfARange_ArrivesAndLeavesTheDescriptorBlocking()
    {
        using KernelRing ring = CreateRing();
        using SocketPair pair = new();
        using FileMemory memory = FileMemory.Create("test", 100_000);
        PinnedPattern(100_000, seed: 1).CopyTo(memory.Memory);
        Task<byte[]> arrival = pair.ReadFarAsync(10_000);

        Assert.Equal(10_000, SocketDescriptor.SendFile(pair.Descriptor, memory.File, 50_000, 10_000));

        Assert.Equal(memory.Memory.Slice(50_000, 10_000).ToArray(), Arrived(arrival));
        byte[] payload = PinnedPattern(Large, seed: 2);
        arrival = pair.ReadFarAsync(Large);
        ring.Submissions.PrepareSend(pair.Descriptor, payload, Tag(1));
        Assert.Equal(Large, ReapOne(ring).Result);
        Assert.Equal(payload, Arrived(arrival));
    }

    [Fact]
    public void SendFile_ToAPeerThatDoesNotRead_NeverWaitsAndThePollCompletesWhenWritable()
    {
        using KernelRing ring = CreateRing();
        using SocketPair pair = new();
        using FileMemory memory = FileMemory.Create("test", Large);
        PinnedPattern(Large, seed: 1).CopyTo(memory.Memory);
        int sent = FillUp(pair, memory, 0);
        ring.Submissions.PreparePollWritable(pair.Descriptor, Tag(1));
        SubmitQuietly(ring);

        Task<byte[]> arrival = pair.ReadFarAsync(Large);
        while (true)
        {
            Completion room = ReapOne(ring);
            Assert.False(room.IsError);
            Assert.False(room.HasMore);
            sent = FillUp(pair, memory, sent);
            if (sent == Large)
            {
                break;
            }

            ring.Submissions.PreparePollWritable(pair.Descriptor, Tag(1));
        }

        Assert.Equal(memory.Memory.ToArray(), Arrived(arrival));
    }

    [Fact]
    public void SendFile_FromTheEndOn_IsNothing()
    {
        using SocketPair pair = new();
        using FileMemory memory = FileMemory.Create("test", 100);

        Assert.Equal(0, SocketDescriptor.SendFile(pair.Descriptor, memory.File, 100, 10));
        Assert.Equal(10, SocketDescriptor.SendFile(pair.Descriptor, memory.File, 90, 100));
    }

    [Fact]
    public void SendFile_ToAPeerThatIsGone_FailsAndTheProcessLives()
    {
        (int near, int far) = SocketDescriptor.CreatePair();
        using FileMemory memory = FileMemory.Create("test", 100);
        SocketDescriptor.Close(far);

        Assert.Equal(-(int)Errno.EPIPE, SocketDescriptor.SendFile(near, memory.File, 0, 100));

        SocketDescriptor.Close(near);
    }

    [Fact]
    public void SendFile_WithBadArguments_NamesThem()
    {
        using SocketPair pair = new();
        FileMemory memory = FileMemory.Create("test", 100);
        Assert.Throws<ArgumentOutOfRangeException>("count", () => SocketDescriptor.SendFile(pair.Descriptor, memory.File, 0, 0));
        Assert.Throws<ArgumentNullException>("file", () => SocketDescriptor.SendFile(pair.Descriptor, null!, 0, 1));
        ((IDisposable)memory).Dispose();
        Assert.Throws<ObjectDisposedException>(() => SocketDescriptor.SendFile(pair.Descriptor, memory.File, 0, 1));
    }

    private static byte[] Arrived(Task<byte[]> arrival)
    {
        Assert.True(arrival.Wait(Patience, TestContext.Current.CancellationToken), "The bytes did not arrive.");
        return arrival.Result;
    }

    /// <summary>Sends until the send buffer is full or the file has ended; returns the bytes sent so far.</summary>
    private static int FillUp(SocketPair pair, FileMemory memory, int sent)
    {
        while (sent < Large)
        {
            int result = SocketDescriptor.SendFile(pair.Descriptor, memory.File, sent, Large - sent);
            if (result == -(int)Errno.EAGAIN)
            {
                break;
            }

            Assert.InRange(result, 1, Large - sent);
            sent += result;
        }

        return sent;
    }
}
