using System.IO.Pipelines;
using System.Net.Sockets;
using IoUringCache.Transport.Tests.Faults;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Transport.Tests.Connecting;

/// <summary>How outgoing connections wait and end: the same on io_uring and on an ordinary socket.</summary>
public sealed class OutgoingEndingParityTests
{
    public static TheoryData<TransportKind> All => Transports.All;

    [Theory]
    [MemberData(nameof(All))]
    public async Task Peer_ResetsAtOnce_ReadThrowsConnectionReset(TransportKind kind)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        await using ConnectionPair pair = await peer.ConnectAsync();

        pair.Client.Reset();

        await Assert.ThrowsAsync<ConnectionResetException>(() => pair.Input.ReadAsync().InTime());
    }

    /// <summary>The kernel connects before the peer accepts, and resets what the peer never accepts.</summary>
    [Theory]
    [MemberData(nameof(All))]
    public async Task Peer_StopsListeningBeforeItAccepts_ReadThrowsConnectionReset(TransportKind kind)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        ConnectionContext connection = await peer.ConnectOnlyAsync();

        peer.StopListening();

        await Assert.ThrowsAsync<ConnectionResetException>(() => connection.Transport.Input.ReadAsync().InTime());
        await connection.DisposeAsync().InTime();
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Peer_SendsFin_ReaderCompletesAndWriterGoesOn(TransportKind kind)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        await using ConnectionPair pair = await peer.ConnectAsync();
        await pair.Client.SendAllAsync("hello"u8.ToArray());
        pair.Client.Shutdown(SocketShutdown.Send);
        Assert.Equal("hello"u8.ToArray(), await pair.Input.TakeToEndAsync());

        byte[] sent = Payload.Of(100_000);
        Task<byte[]> receiving = pair.Client.ReceiveToEndAsync();
        Assert.False((await pair.Output.WriteAsync(sent).InTime()).IsCompleted);
        await pair.Server.DisposeAsync().InTime();

        Payload.AssertEqual(sent, await receiving.InTime());
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Application_CompletesItsOutput_PeerSeesFinBehindAllData(TransportKind kind)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        await using ConnectionPair pair = await peer.ConnectAsync();
        byte[] sent = Payload.Of(100_000);
        Task<byte[]> receiving = pair.Client.ReceiveToEndAsync();

        await pair.Output.WriteAsync(sent).InTime();
        await pair.Output.CompleteAsync();

        Payload.AssertEqual(sent, await receiving.InTime());
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Application_Aborts_PeerSeesAReset(TransportKind kind)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        await using ConnectionPair pair = await peer.ConnectAsync();

        pair.Server.Abort(new ConnectionAbortedException("enough"));

        await pair.Client.AssertResetAsync();
        Assert.Equal("enough", (await Assert.ThrowsAsync<ConnectionAbortedException>(() => pair.Input.ReadAsync().InTime())).Message);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Peer_DoesNotRead_FlushWaitsUntilItDoes(TransportKind kind)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        await using ConnectionPair pair = await peer.ConnectAsync();
        Task<FlushResult> flush = await pair.Server.FlushUntilItWaitsAsync();

        Task<byte[]> receiving = pair.Client.ReceiveToEndAsync();
        Assert.False((await flush.InTime()).IsCompleted);

        await pair.Server.DisposeAsync().InTime();
        Assert.True((await receiving.InTime()).Length > 0);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Application_DoesNotRead_PeerBlocksUntilItDoes(TransportKind kind)
    {
        const int Length = 32 * 1024 * 1024;
        await using OutgoingPeer peer = OutgoingPeer.Start(kind, options => options.MaxReadBufferSize = 64 * 1024);
        await using ConnectionPair pair = await peer.ConnectAsync();
        byte[] sent = Payload.Of(Length);
        Task sending = pair.Client.SendAllAsync(sent);
        await peer.Log.WaitForAsync(4); // Paused.
        Assert.False(sending.IsCompleted);

        Payload.AssertEqual(sent, await TakeAllAsync(pair.Input, Length));

        await sending.InTime();
        await pair.AssertWorksAsync();
    }

    private static async Task<byte[]> TakeAllAsync(PipeReader input, int length)
    {
        MemoryStream taken = new(length);
        while (taken.Length < length)
        {
            taken.Write(input.TakeAll(await input.ReadAsync().InTime()));
        }

        return taken.ToArray();
    }
}
