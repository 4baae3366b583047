using System.Net.Sockets;
using IoUringCache.Ring.Tests.Support;

namespace IoUringCache.Ring.Tests;

/// <summary>Sends outside of the ring: what the send buffer takes, and an error instead of a signal.</summary>
public sealed class SendNowTests : RingTest
{
    [Theory]
    [InlineData(1, 10)]
    [InlineData(64, 700)]
    public void SendNow_AnySegments_ArriveInOrder(int segments, int segmentBytes)
    {
        using KernelRing ring = CreateRing();
        using SocketPair pair = new();
        byte[] payload = PinnedPattern(segments * segmentBytes, seed: 1);
        ReadOnlyMemory<byte>[] pieces =
            [.. Enumerable.Range(0, segments).Select(index => (ReadOnlyMemory<byte>)payload.AsMemory(index * segmentBytes, segmentBytes))];
        Task<byte[]> arrival = pair.ReadFarAsync(payload.Length);

        Assert.Equal(payload.Length, ring.SendNow(pair.Descriptor, pieces));

        Assert.Equal(payload, Arrived(arrival));
    }

    [Fact]
    public void SendNow_PeerDoesNotRead_SendsWhatFitsAndNeverWaits()
    {
        using KernelRing ring = CreateRing();
        using SocketPair pair = new();
        byte[] payload = PinnedPattern(64 * 1024 * 1024, seed: 1);

        int sent = ring.SendNow(pair.Descriptor, [payload]);
        Assert.InRange(sent, 1, payload.Length - 1);
        int result;
        while ((result = ring.SendNow(pair.Descriptor, [payload.AsMemory(sent)])) > 0)
        {
            sent += result;
        }

        Assert.Equal(Errno.EAGAIN, (Errno)(-result));
        Assert.Equal(payload[..sent], Arrived(pair.ReadFarAsync(sent)));
    }

    [Fact]
    public void SendNow_MoreFollows_IsHeldForIt()
    {
        using KernelRing ring = CreateRing();
        using SocketPair pair = new();
        byte[] payload = PinnedPattern(300, seed: 1);

        Assert.Equal(100, ring.SendNow(pair.Descriptor, [payload.AsMemory(0, 100)], moreFollows: true));
        Assert.Equal(0, pair.Far.Available);
        Assert.Equal(200, ring.SendNow(pair.Descriptor, [payload.AsMemory(100)]));

        byte[] arrived = new byte[payload.Length];
        Assert.Equal(payload.Length, pair.Far.Receive(arrived));
        Assert.Equal(payload, arrived);
    }

    [Fact]
    public void SendNow_SendingHasEnded_IsAnError()
    {
        using KernelRing ring = CreateRing();
        using SocketPair pair = new();
        pair.Near.Shutdown(SocketShutdown.Send);

        Assert.Equal(-(int)Errno.EPIPE, ring.SendNow(pair.Descriptor, [PinnedPattern(1, seed: 1)]));
    }

    [Fact]
    public void SendNow_NoSegmentOrTooMany_IsRefused()
    {
        using KernelRing ring = CreateRing();
        ReadOnlyMemory<byte>[] tooMany = new ReadOnlyMemory<byte>[SubmissionQueue.MaxGatherSegments + 1];

        Assert.Throws<ArgumentOutOfRangeException>("pinned", () => ring.SendNow(0, []));
        Assert.Throws<ArgumentOutOfRangeException>("pinned", () => ring.SendNow(0, tooMany));
    }

    private static byte[] Arrived(Task<byte[]> arrival)
    {
        Assert.True(arrival.Wait(Patience, TestContext.Current.CancellationToken), "The bytes did not arrive.");
        return arrival.Result;
    }
}
