using System.Net;
using System.Net.Sockets;
using IoUringCache.Ring.Tests.Support;

namespace IoUringCache.Ring.Tests;

public sealed class SocketDescriptorTests : RingTest
{
    private const int PortOffset = 2;
    private const int AddressOffset = 4;
    private const int InternetAddressBytes = 16;

    [Fact]
    public void Names_OfAConnectedSocket_AreItsEndPoints()
    {
        using SocketPair pair = new();
        byte[] address = new byte[128];

        Assert.Equal(InternetAddressBytes, SocketDescriptor.GetPeerName(pair.Descriptor, address));
        Assert.Equal(pair.Near.RemoteEndPoint, EndPointOf(address));
        Assert.Equal(InternetAddressBytes, SocketDescriptor.GetLocalName(pair.Descriptor, address));
        Assert.Equal(pair.Near.LocalEndPoint, EndPointOf(address));
    }

    [Fact]
    public void PeerName_OfAListener_IsNone()
    {
        using Socket listener = SocketPair.Listen();

        Assert.Equal(-1, SocketDescriptor.GetPeerName((int)listener.Handle, new byte[128]));
    }

    [Fact]
    public void PeerName_SpanTooShort_IsRefusedByName()
    {
        using SocketPair pair = new();

        Assert.Throws<ArgumentException>("address", () => SocketDescriptor.GetPeerName(pair.Descriptor, new byte[8]));
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void NoDelay_Set_IsSeenBySocket(bool enabled)
    {
        using SocketPair pair = new();

        SocketDescriptor.SetNoDelay(pair.Descriptor, enabled);

        Assert.Equal(enabled, pair.Near.NoDelay);
    }

    [Fact]
    public void KeepAlive_Set_IsSeenBySocket()
    {
        using SocketPair pair = new();

        SocketDescriptor.SetKeepAlive(pair.Descriptor, 7);

        Assert.Equal(1, pair.Near.GetSocketOption(SocketOptionLevel.Socket, SocketOptionName.KeepAlive));
        Assert.Equal(7, pair.Near.GetSocketOption(SocketOptionLevel.Tcp, SocketOptionName.TcpKeepAliveTime));
        Assert.Equal(7, pair.Near.GetSocketOption(SocketOptionLevel.Tcp, SocketOptionName.TcpKeepAliveInterval));
    }

    [Fact]
    public void KeepAlive_TimeOutOfRange_FailsWithItsError()
    {
        using SocketPair pair = new();

        IoUringException failure = Assert.Throws<IoUringException>(() => SocketDescriptor.SetKeepAlive(pair.Descriptor, 0));

        Assert.Equal(Errno.EINVAL, failure.Error);
    }

    [Fact]
    public void Open_OfAFamilyThatDoesNotExist_FailsWithItsError()
    {
        byte[] address = [255, 0];

        Assert.Equal(Errno.EAFNOSUPPORT, Assert.Throws<IoUringException>(() => SocketDescriptor.OpenStream(address)).Error);
        Assert.Throws<ArgumentException>("socketAddress", () => SocketDescriptor.OpenStream([]));
    }

    [Fact]
    public void UrgentData_InFrontOfOtherData_IsSeenUntilItIsPassed()
    {
        using SocketPair pair = new();
        Assert.False(SocketDescriptor.IsAtUrgentData(pair.Descriptor));

        pair.Far.Send("!"u8.ToArray(), SocketFlags.OutOfBand);
        pair.Far.Send("a"u8.ToArray());
        pair.Near.ReceiveTimeout = 10_000;
        Assert.True(SpinWait.SpinUntil(() => SocketDescriptor.IsAtUrgentData(pair.Descriptor), pair.Near.ReceiveTimeout));

        byte[] received = new byte[1];
        Assert.Equal(1, pair.Near.Receive(received));
        Assert.Equal("a"u8.ToArray(), received);
        Assert.False(SocketDescriptor.IsAtUrgentData(pair.Descriptor));
    }

    [Fact]
    public void UrgentData_OfNoSocket_IsNone()
    {
        using EventDescriptor descriptor = EventDescriptor.Create();
        Assert.False(SocketDescriptor.IsAtUrgentData(descriptor.Descriptor));
        Assert.False(SocketDescriptor.IsAtUrgentData(-1));
    }

    [Fact]
    public void NoDelay_OnAUnixSocket_FailsWithItsError()
    {
        (int near, int far) = SocketDescriptor.CreatePair();

        IoUringException failure = Assert.Throws<IoUringException>(() => SocketDescriptor.SetNoDelay(near, true));

        Assert.Equal(Errno.EOPNOTSUPP, failure.Error);
        SocketDescriptor.Close(near);
        SocketDescriptor.Close(far);
    }

    [Fact]
    public void ShutdownSend_Connected_EndsThatDirectionOnly()
    {
        using SocketPair pair = new();
        using Socket near = new(new SafeSocketHandle(pair.Descriptor, ownsHandle: false));

        SocketDescriptor.ShutdownSend(pair.Descriptor);

        Assert.Equal(0, pair.Far.Receive(new byte[1]));
        Assert.Equal(1, pair.Far.Send(new byte[1]));
        Assert.Equal(1, near.Receive(new byte[1]));
    }

    [Fact]
    public void ShutdownSend_NeverConnected_DoesNothing()
    {
        using Socket socket = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);

        SocketDescriptor.ShutdownSend((int)socket.Handle);

        Assert.False(socket.Connected);
    }

    [Fact]
    public void Close_Accepted_PeerSeesTheEnd()
    {
        using KernelRing ring = CreateRing();
        using Socket listener = SocketPair.Listen();
        using Socket client = SocketPair.Connect(listener);

        SocketDescriptor.Close(AcceptOne(ring, listener));

        Assert.Equal(0, client.Receive(new byte[1]));
    }

    [Fact]
    public void CloseWithReset_Accepted_PeerSeesAReset()
    {
        using KernelRing ring = CreateRing();
        using Socket listener = SocketPair.Listen();
        using Socket client = SocketPair.Connect(listener);

        SocketDescriptor.CloseWithReset(AcceptOne(ring, listener));

        SocketException failure = Assert.Throws<SocketException>(() => client.Receive(new byte[1]));
        Assert.Equal(SocketError.ConnectionReset, failure.SocketErrorCode);
    }

    [Fact]
    public void Calls_OnADescriptorThatIsNotOpen_FailWithEbadf()
    {
        const int NeverOpen = int.MaxValue;
        Action[] calls =
        [
            () => SocketDescriptor.Close(NeverOpen),
            () => SocketDescriptor.CloseWithReset(NeverOpen),
            () => SocketDescriptor.ShutdownSend(NeverOpen),
            () => SocketDescriptor.SetNoDelay(NeverOpen, true),
            () => SocketDescriptor.GetPeerName(NeverOpen, new byte[128]),
            () => SocketDescriptor.GetLocalName(NeverOpen, new byte[128]),
        ];

        Assert.All(calls, call => Assert.Equal(Errno.EBADF, Assert.Throws<IoUringException>(call).Error));
    }

    private static int AcceptOne(KernelRing ring, Socket listener)
    {
        ring.Submissions.PrepareAcceptMultishot((int)listener.Handle, Tag(1));
        int accepted = ReapOne(ring).Result;
        ring.Submissions.PrepareCancel(Tag(1), Tag(2));
        Reap(ring, 2);
        return accepted;
    }

    private static IPEndPoint EndPointOf(byte[] address) => new(
        new IPAddress(address.AsSpan(AddressOffset, 4)),
        (address[PortOffset] << 8) | address[PortOffset + 1]);
}
