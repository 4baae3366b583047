using System.Net;
using System.Net.Sockets;
using IoUringCache.Ring.Tests.Support;

namespace IoUringCache.Ring.Tests;

/// <summary>Descriptors in messages over a Unix socket.</summary>
public sealed class DescriptorMessageTests : IDisposable
{
    private readonly Socket _near;
    private readonly Socket _far;

    public DescriptorMessageTests()
    {
        (int near, int far) = SocketDescriptor.CreatePair();
        _near = new Socket(new SafeSocketHandle(near, ownsHandle: true));
        _far = new Socket(new SafeSocketHandle(far, ownsHandle: true));
    }

    public void Dispose()
    {
        _near.Dispose();
        _far.Dispose();
    }

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(DescriptorMessage.MaxDescriptors)]
    public void Descriptors_SentAndReceived_AreNewOnesOfTheSameSocket(int count)
    {
        using Socket listener = SocketPair.Listen();
        Assert.Equal(2, DescriptorMessage.Send(_near.SafeHandle, "ab"u8, [.. Enumerable.Repeat((int)listener.Handle, count)]));
        byte[] data = new byte[10];

        Assert.Equal(2, DescriptorMessage.Receive(_far.SafeHandle, data, out int[] descriptors));

        Assert.Equal("ab"u8.ToArray(), data[..2]);
        Assert.Equal(count, descriptors.Length);
        Assert.Equal(count + 1, descriptors.Append((int)listener.Handle).Distinct().Count());
        foreach (int descriptor in descriptors)
        {
            Assert.Contains("02000002", File.ReadAllText($"/proc/self/fdinfo/{descriptor}"), StringComparison.Ordinal);
            using Socket same = new(new SafeSocketHandle(descriptor, ownsHandle: true));
            Assert.Equal(listener.LocalEndPoint, same.LocalEndPoint);
        }

        // Closing those has closed only those.
        using Socket client = new(SocketType.Stream, ProtocolType.Tcp);
        client.Connect((IPEndPoint)listener.LocalEndPoint!);
        using Socket accepted = listener.Accept();
    }

    [Fact]
    public void Data_WithoutDescriptors_HasNone()
    {
        Assert.Equal(1, DescriptorMessage.Send(_near.SafeHandle, "a"u8, []));
        Assert.Equal(1, DescriptorMessage.Receive(_far.SafeHandle, new byte[1], out int[] descriptors));
        Assert.Empty(descriptors);
    }

    [Fact]
    public void Peer_HasGone_IsTheEndForAReceiveAndAnErrorForASend()
    {
        _near.Dispose();
        Assert.Equal(0, DescriptorMessage.Receive(_far.SafeHandle, new byte[1], out int[] descriptors));
        Assert.Empty(descriptors);
        Assert.Equal(-(int)Errno.EPIPE, DescriptorMessage.Send(_far.SafeHandle, "a"u8, []));
    }

    [Fact]
    public void Descriptor_ThatIsNotOpen_IsAnError() =>
        Assert.Equal(-(int)Errno.EBADF, DescriptorMessage.Send(_near.SafeHandle, "a"u8, [int.MaxValue]));

    [Fact]
    public void Arguments_OutOfRange_AreRefused()
    {
        Assert.Throws<ArgumentOutOfRangeException>("data", () => DescriptorMessage.Send(_near.SafeHandle, [], []));
        Assert.Throws<ArgumentOutOfRangeException>(
            "descriptors", () => DescriptorMessage.Send(_near.SafeHandle, "a"u8, new int[DescriptorMessage.MaxDescriptors + 1]));
        Assert.Throws<ArgumentOutOfRangeException>("data", () => DescriptorMessage.Receive(_near.SafeHandle, [], out _));
    }
}
