using System.Buffers;
using System.Net.Sockets;
using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Buffers;
using IoUringCache.Transport.Tests.Faults;
using IoUringCache.Transport.Tests.Loops;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Http.Features;

namespace IoUringCache.Transport.Tests.Connections;

/// <summary>The last bytes of a connection and its FIN: one segment, and nothing is lost where that cannot be.</summary>
public sealed class LastSegmentTests
{
    private const int Length = 1000;

    // linux/tcp.h: TCP_INFO, and tcpi_segs_in in its structure.
    private const int TcpLevel = 6;
    private const int InfoOption = 11;
    private const int SegmentsReceivedOffset = 140;

    public static TheoryData<TransportKind> IoUring => Transports.IoUring;

    public static TheoryData<TransportKind, Errno> Passing =>
        Transports.IoUringWith([Errno.EAGAIN, Errno.EINTR, Errno.ENOMEM, Errno.ENOBUFS]);

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task LastBytes_LeaveWithTheFin(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await ConnectAsync(server);
        uint before = SegmentsReceived(pair.Client);
        byte[] sent = Payload.Of(Length);

        // Not flushed: the loop hears of the bytes and of the end in one.
        pair.Output.Write(sent);
        pair.Output.Complete();

        Payload.AssertEqual(sent, await pair.Client.ReceiveToEndAsync());
        Assert.Equal(before + 1, SegmentsReceived(pair.Client));
    }

    [Theory]
    [MemberData(nameof(Passing))]
    public async Task LastBytes_AreRefusedAtFirst_ArriveAll(TransportKind kind, Errno error)
    {
        int refused = 0;
        using FaultKernel kernel = new()
        {
            OnSend = _ =>
            {
                refused++;
                return FaultKernel.Failure(error);
            },
        };
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        await using ConnectionPair pair = await ConnectAsync(server);
        byte[] sent = Payload.Of(Length);

        pair.Output.Write(sent);
        pair.Output.Complete();

        Payload.AssertEqual(sent, await pair.Client.ReceiveToEndAsync());
        Assert.Equal(1, refused);
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task LastBytes_AllOfTheFirstSegmentLeaves_TheOthersFollow(TransportKind kind)
    {
        int shortened = 0;
        using FaultKernel kernel = new()
        {
            OnSend = message =>
            {
                shortened++;
                MessageView.Shorten(message, int.MaxValue);
                return null;
            },
        };
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        await using ConnectionPair pair = await ConnectAsync(server);
        byte[] sent = Payload.Of(2 * Length);

        // A segment of its own for each half. The first goes back to the pool, and the ring sends the second, not the first again.
        sent.AsSpan(0, Length).CopyTo(pair.Output.GetSpan(Length));
        pair.Output.Advance(Length);
        sent.AsSpan(Length).CopyTo(pair.Output.GetSpan(SendSegmentPool.LargeSize));
        pair.Output.Advance(Length);
        pair.Output.Complete();

        Payload.AssertEqual(sent, await pair.Client.ReceiveToEndAsync());
        Assert.Equal(1, shortened);
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task LastBytes_LeaveInPart_TheRestFollows(TransportKind kind)
    {
        int shortened = 0;
        using FaultKernel kernel = new()
        {
            OnSend = message =>
            {
                shortened++;
                MessageView.Shorten(message, Length / 3);
                return null;
            },
        };
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        await using ConnectionPair pair = await ConnectAsync(server);
        byte[] sent = Payload.Of(Length);

        pair.Output.Write(sent);
        pair.Output.Complete();

        Payload.AssertEqual(sent, await pair.Client.ReceiveToEndAsync());
        Assert.Equal(1, shortened);
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task LastBytes_ConnectionIsBroken_EndsThatConnectionOnly(TransportKind kind)
    {
        using FaultKernel kernel = new() { OnSend = _ => FaultKernel.Failure(Errno.EPIPE) };
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        await using ConnectionPair other = await server.ConnectAsync();
        await using ConnectionPair pair = await ConnectAsync(server);
        Task reading = pair.Input.ReadAsync().AsTask();

        pair.Output.Write(Payload.Of(Length));
        pair.Output.Complete();

        await Assert.ThrowsAsync<ConnectionResetException>(() => reading.InTime());
        await pair.Client.AssertResetAsync();
        await other.AssertWorksAsync();
    }

    /// <summary>
    /// A connection whose start its loop has behind it: else the loop may look for bytes between the write and the end. Requests of a
    /// turn come before items of the next.
    /// </summary>
    private static async Task<ConnectionPair> ConnectAsync(TransportServer server)
    {
        ConnectionPair pair = await server.ConnectAsync();
        for (int turn = 0; turn < 2; turn++)
        {
            ThreadRecorder item = new();
            pair.Server.Features.GetRequiredFeature<IConnectionSchedulerFeature>().Schedule([item]);
            await item.Ran.InTime();
        }

        return pair;
    }

    private static uint SegmentsReceived(Socket client)
    {
        byte[] info = new byte[SegmentsReceivedOffset + sizeof(uint)];
        Assert.Equal(info.Length, client.GetRawSocketOption(TcpLevel, InfoOption, info));
        return BitConverter.ToUInt32(info, SegmentsReceivedOffset);
    }
}
