using System.Collections.Concurrent;
using System.Net.Sockets;
using IoUringCache.Ring.Tests.Support;

namespace IoUringCache.Ring.Tests;

public sealed class ProvidedBufferRingTests : RingTest
{
    private const int Seed = 42;
    private const ushort Group = 1;

    [Fact]
    public void Acquire_ThenRelease_MovesTheAvailableCount()
    {
        using KernelRing ring = CreateRing();
        ProvidedBufferRing buffers = ring.RegisterBuffers(Group, count: 4, size: 128);
        Assert.Equal((Group, 4, 128, 4), (buffers.Group, buffers.Count, buffers.BufferSize, buffers.AvailableCount));

        Assert.Equal(128, buffers.Acquire(2).Length);
        Assert.Equal(3, buffers.AvailableCount);
        buffers.Release(2);

        Assert.Equal(4, buffers.AvailableCount);
    }

    [Fact]
    public void Acquire_TwoBuffers_DoNotOverlap()
    {
        using KernelRing ring = CreateRing();
        ProvidedBufferRing buffers = ring.RegisterBuffers(Group, count: 2, size: 16);

        buffers.Acquire(0).Span.Fill(1);
        Memory<byte> second = buffers.Acquire(1);
        second.Span.Fill(2);
        buffers.Release(0);

        Assert.All(second.ToArray(), value => Assert.Equal(2, value));
        Assert.All(buffers.Acquire(0).ToArray(), value => Assert.Equal(1, value));
    }

    [Fact]
    public void Release_TwiceOrNeverAcquired_Throws()
    {
        using KernelRing ring = CreateRing();
        ProvidedBufferRing buffers = ring.RegisterBuffers(Group, count: 2, size: 16);
        buffers.Acquire(1);
        buffers.Release(1);

        Assert.Throws<InvalidOperationException>(() => buffers.Release(1));
        Assert.Throws<InvalidOperationException>(() => buffers.Release(0));
        Assert.Equal(2, buffers.AvailableCount);
    }

    [Fact]
    public void Acquire_AcquiredAlready_Throws()
    {
        using KernelRing ring = CreateRing();
        ProvidedBufferRing buffers = ring.RegisterBuffers(Group, count: 2, size: 16);
        buffers.Acquire(1);

        Assert.Throws<InvalidOperationException>(() => buffers.Acquire(1));
        Assert.Equal(1, buffers.AvailableCount);
    }

    [Theory]
    [InlineData(-1)]
    [InlineData(2)]
    public void Buffer_Unknown_IsRefused(int bufferId)
    {
        using KernelRing ring = CreateRing();
        ProvidedBufferRing buffers = ring.RegisterBuffers(Group, count: 2, size: 16);

        Assert.Throws<ArgumentOutOfRangeException>("bufferId", () => buffers.Acquire(bufferId));
        Assert.Throws<ArgumentOutOfRangeException>("bufferId", () => buffers.Release(bufferId));
    }

    [Fact]
    public void Buffers_InReserve_HaveNoMemory()
    {
        const int Size = 64 * 1024;
        using KernelRing ring = CreateRing();
        long before = GC.GetAllocatedBytesForCurrentThread();

        ProvidedBufferRing buffers = ring.RegisterBuffers(Group, count: 64, Size, provided: 2);
        long atFirst = GC.GetAllocatedBytesForCurrentThread() - before;
        Assert.Throws<ArgumentOutOfRangeException>("bufferId", () => buffers.Acquire(2));
        Assert.True(buffers.TryProvideMore());

        Assert.InRange(atFirst, 2 * Size, 4 * Size);
        Assert.Equal(Size, buffers.Acquire(2).Length);
    }

    [Fact]
    public void Release_AfterTheRingIsDisposed_IsCounted()
    {
        KernelRing ring = CreateRing();
        ProvidedBufferRing buffers = ring.RegisterBuffers(Group, count: 2, size: 16);
        Memory<byte> acquired = buffers.Acquire(0);
        acquired.Span.Fill(9);
        ring.Dispose();

        Assert.Equal(9, acquired.Span[15]);
        buffers.Release(0);
        Assert.Equal(2, buffers.AvailableCount);
        Assert.Throws<InvalidOperationException>(() => buffers.Release(0));
    }

    [Fact]
    public void TryProvideMore_Called_DoublesTheProvidedCountUpToAll()
    {
        using KernelRing ring = CreateRing();
        ProvidedBufferRing buffers = ring.RegisterBuffers(Group, count: 8, size: 16, provided: 3);
        Assert.Equal((3, 8), (buffers.ProvidedCount, buffers.AvailableCount));

        Assert.True(buffers.TryProvideMore());
        Assert.Equal(6, buffers.ProvidedCount);
        Assert.True(buffers.TryProvideMore());
        Assert.Equal(8, buffers.ProvidedCount);

        Assert.False(buffers.TryProvideMore());
        Assert.Equal((8, 8), (buffers.ProvidedCount, buffers.AvailableCount));
    }

    [Fact]
    public void Receive_BuffersInReserve_GetsThemOnlyOnceTheyAreProvided()
    {
        using KernelRing ring = CreateRing();
        using SocketPair pair = new();
        ProvidedBufferRing buffers = ring.RegisterBuffers(Group, count: 2, size: 8, provided: 1);
        pair.Far.Send(PinnedPattern(24, Seed));

        Assert.Equal([0], ReceivedIds());
        buffers.Acquire(0);
        Assert.Empty(ReceivedIds());
        Assert.True(buffers.TryProvideMore());
        Assert.Equal([1], ReceivedIds());

        // The buffers of a receive until it ends with ENOBUFS.
        List<int> ReceivedIds()
        {
            ring.Submissions.PrepareReceiveMultishot(pair.Descriptor, Group, Tag(1));
            List<Completion> completions = [];
            do
            {
                completions.AddRange(Reap(ring, 1));
            }
            while (completions[^1].HasMore);

            Assert.Equal(Errno.ENOBUFS, completions[^1].Error);
            return completions.FindAll(completion => completion.HasBuffer).ConvertAll(completion => (int)completion.BufferId);
        }
    }

    [Theory]
    [InlineData(-1)]
    [InlineData(0)]
    [InlineData(5)]
    public void RegisterBuffers_ProvidedNotPartOfTheCount_IsRefusedByName(int provided)
    {
        using KernelRing ring = CreateRing();

        Assert.Throws<ArgumentOutOfRangeException>("provided", () => ring.RegisterBuffers(Group, count: 4, size: 16, provided));
    }

    [Theory]
    [InlineData(0, 16, "count")]
    [InlineData(3, 16, "count")]
    [InlineData(65536, 16, "count")]
    [InlineData(4, 0, "size")]
    [InlineData(32768, 65536, "size")]
    public void RegisterBuffers_BadShape_IsRefusedByName(int count, int size, string name)
    {
        using KernelRing ring = CreateRing();

        ArgumentException refusal = Assert.ThrowsAny<ArgumentException>(() => ring.RegisterBuffers(Group, count, size));

        Assert.Equal(name, refusal.ParamName);
    }

    [Fact]
    public void RegisterBuffers_GroupTwice_IsRefusedByName()
    {
        using KernelRing ring = CreateRing();
        ring.RegisterBuffers(Group, count: 2, size: 16);

        Assert.Throws<ArgumentException>("group", () => ring.RegisterBuffers(Group, count: 2, size: 16));
    }

    [Fact]
    public void Receive_BuffersExhausted_EndsWithEnobufsAndContinuesAfterARelease()
    {
        using KernelRing ring = CreateRing();
        using SocketPair pair = new();
        ProvidedBufferRing buffers = ring.RegisterBuffers(Group, count: 2, size: 8);
        byte[] payload = PinnedPattern(40, Seed);
        List<byte> received = [];
        pair.Far.Send(payload);
        pair.Far.Shutdown(SocketShutdown.Send);

        int exhaustions = 0;
        bool hasEnded = false;
        for (int round = 0; !hasEnded; round++)
        {
            Assert.True(round < payload.Length, "The end of the stream did not come.");
            ring.Submissions.PrepareReceiveMultishot(pair.Descriptor, Group, Tag(round));
            List<Completion> completions = [];
            do
            {
                completions.AddRange(Reap(ring, 1));
            }
            while (completions[^1].HasMore);

            List<Completion> held = completions.FindAll(completion => completion.HasBuffer);
            held.ForEach(completion => received.AddRange(buffers.Acquire(completion.BufferId).Span[..completion.Result]));
            Completion last = completions[^1];
            exhaustions += last.Error == Errno.ENOBUFS ? 1 : 0;
            hasEnded = last.Result == 0;
            held.ForEach(completion => buffers.Release(completion.BufferId));
        }

        Assert.Equal(payload, received);
        Assert.True(exhaustions > 0, "Two buffers of 8 bytes should not have been enough for 40.");
        Assert.Equal(2, buffers.AvailableCount);
    }

    [Fact]
    public void Release_FromOtherThreadsAtOnce_KeepsTheStreamWhole()
    {
        const int Buffers = 16;
        const int BufferBytes = 256;
        const int Total = 1024 * 1024;
        using KernelRing ring = CreateRing();
        using SocketPair pair = new();
        ProvidedBufferRing buffers = ring.RegisterBuffers(Group, Buffers, BufferBytes);
        byte[] payload = PinnedPattern(Total, Seed);
        using BlockingCollection<int> acquired = [];
        Thread[] returners = [.. Enumerable.Range(0, 3).Select(_ => new Thread(() =>
        {
            foreach (int bufferId in acquired.GetConsumingEnumerable())
            {
                buffers.Release(bufferId);
            }
        }))];
        Thread sender = new(() =>
        {
            pair.Far.Send(payload);
            pair.Far.Shutdown(SocketShutdown.Send);
        });
        Array.ForEach(returners, thread => thread.Start());
        sender.Start();

        byte[] received = new byte[Total];
        int filled = 0;
        ring.Submissions.PrepareReceiveMultishot(pair.Descriptor, Group, Tag(0));
        for (bool hasEnded = false; !hasEnded;)
        {
            foreach (Completion completion in Reap(ring, 1))
            {
                if (completion.HasBuffer)
                {
                    buffers.Acquire(completion.BufferId).Span[..completion.Result].CopyTo(received.AsSpan(filled));
                    filled += completion.Result;
                    acquired.Add(completion.BufferId, TestContext.Current.CancellationToken);
                }

                hasEnded |= completion.Result == 0;
                if (!completion.HasMore && completion.Result != 0)
                {
                    Assert.True(completion.Error is Errno.ENOBUFS or Errno.None, $"The receive failed with {completion.Error}.");
                    ring.Submissions.PrepareReceiveMultishot(pair.Descriptor, Group, Tag(0));
                }
            }
        }

        acquired.CompleteAdding();
        Assert.True(sender.Join(Patience));
        Assert.All(returners, thread => Assert.True(thread.Join(Patience)));
        Assert.Equal(Total, filled);
        Assert.True(payload.AsSpan().SequenceEqual(received));
        Assert.Equal(Buffers, buffers.AvailableCount);
    }
}
