using System.Net.Sockets;
using IoUringCache.Transport.Tests.Support;

namespace IoUringCache.Transport.Tests.Connecting;

/// <summary>The stream that an HTTP client gets.</summary>
public sealed class ConnectionStreamTests
{
    private static readonly int[] s_lengths = [1, 4096, 1_000_000];

    public static TheoryData<TransportKind> All => Transports.All;

    /// <summary>Of sockets it is a <see cref="NetworkStream"/>: its writes do not wait, and it ends otherwise.</summary>
    public static TheoryData<TransportKind> IoUring => Transports.IoUring;

    public static TheoryData<TransportKind, int> Lengths => Transports.AllWith(s_lengths);

    [Theory]
    [MemberData(nameof(Lengths))]
    public async Task Stream_AnyLength_ArrivesBothWays(TransportKind kind, int length)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        (Socket socket, Stream stream) = await OpenAsync(peer);
        using Socket client = socket;
        byte[] sent = Payload.Of(length);

        Task<byte[]> receiving = client.ReceiveExactlyAsync(length);
        await stream.WriteAsync(sent).InTime();
        await stream.FlushAsync().InTime();
        Payload.AssertEqual(sent, await receiving.InTime());

        Task sending = client.SendAllAsync(sent);
        byte[] received = new byte[length];
        await stream.ReadExactlyAsync(received).InTime();
        Payload.AssertEqual(sent, received);
        await sending.InTime();
        await stream.DisposeAsync().InTime();
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Stream_SynchronousCalls_Work(TransportKind kind)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        (Socket socket, Stream stream) = await OpenAsync(peer);
        using Socket client = socket;
        Task calls = Task.Factory.StartNew(Call, TaskCreationOptions.LongRunning);

        Assert.Equal("abcd"u8.ToArray(), await client.ReceiveExactlyAsync(4));
        await client.SendAllAsync("wxyz"u8.ToArray());
        await calls.InTime();
        Assert.Empty(await client.ReceiveToEndAsync());

        void Call()
        {
            stream.Write("abc"u8);
            stream.Write([(byte)'d'], 0, 1);
            stream.Flush();
            byte[] read = new byte[3];
            stream.ReadExactly(read);
            Assert.Equal("wxy"u8.ToArray(), read);
            Assert.Equal('z', stream.ReadByte());
            stream.Dispose();
        }
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Read_OfNoBytes_WaitsForDataAndTakesNone(TransportKind kind)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        (Socket socket, Stream stream) = await OpenAsync(peer);
        using Socket client = socket;
        Task<int> waiting = stream.ReadAsync(Memory<byte>.Empty).AsTask();
        Assert.False(waiting.IsCompleted);

        await client.SendAllAsync("abc"u8.ToArray());

        Assert.Equal(0, await waiting.InTime());
        byte[] read = new byte[2];
        Assert.Equal(2, await stream.ReadAsync(read).InTime());
        Assert.Equal("ab"u8.ToArray(), read);
        Assert.Equal(0, await stream.ReadAsync(Memory<byte>.Empty).InTime());
        Assert.Equal(1, await stream.ReadAsync(read).InTime());
        Assert.Equal((byte)'c', read[0]);
        await stream.DisposeAsync().InTime();
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Read_PeerHasSentFin_EndsAtOnceOnAnyThread(TransportKind kind)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        (Socket socket, Stream stream) = await OpenAsync(peer);
        socket.Dispose();
        Assert.Equal(0, await stream.ReadAsync(Memory<byte>.Empty).InTime());
        await Task.Yield();

        ValueTask<int> read = stream.ReadAsync(new byte[1]);

        Assert.True(read.IsCompletedSuccessfully);
        Assert.Equal(0, await read);
        await stream.DisposeAsync().InTime();
    }

    /// <summary>An HTTP client that is about to use the connection asks so: the loop has perhaps not yet heard of what the kernel knows.</summary>
    [Theory]
    [MemberData(nameof(All))]
    public async Task Read_PeerHasJustSentFin_EndsAtOnce(TransportKind kind)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        for (int connection = 0; connection < 20; connection++)
        {
            (Socket socket, Stream stream) = await OpenAsync(peer);
            await socket.SendAllAsync("a"u8.ToArray());
            Assert.Equal(1, await stream.ReadAsync(new byte[2]).InTime());
            await Task.Yield();
            socket.Shutdown(SocketShutdown.Send);
            Assert.True(SpinWait.SpinUntil(() => HasAnswerToFin(socket), Deadline.Limit));

            ValueTask<int> read = stream.ReadAsync(new byte[1]);

            Assert.True(read.IsCompleted, $"connection {connection}");
            Assert.Equal(0, await read);
            await stream.DisposeAsync().InTime();
            socket.Dispose();
        }
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Read_PeerHasReset_FailsAtOnceOnAnyThread(TransportKind kind)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        (Socket socket, Stream stream) = await OpenAsync(peer);
        socket.Reset();
        await Assert.ThrowsAnyAsync<IOException>(() => stream.ReadAsync(Memory<byte>.Empty).InTime());
        await Task.Yield();

        ValueTask<int> read = stream.ReadAsync(new byte[1]);

        Assert.True(read.IsFaulted);
        await Assert.ThrowsAnyAsync<IOException>(() => read.AsTask());
        await stream.DisposeAsync().InTime();
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Read_PeerHasSentAndReset_HasTheDataFirst(TransportKind kind)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        (Socket socket, Stream stream) = await OpenAsync(peer);
        await socket.SendAllAsync("abc"u8.ToArray());
        Assert.Equal(0, await stream.ReadAsync(Memory<byte>.Empty).InTime());
        socket.Reset();
        if (kind != TransportKind.Sockets)
        {
            await peer.Log.WaitForAsync(19); // The loop has seen the reset.
        }

        byte[] read = new byte[2];
        Assert.Equal(2, await stream.ReadAsync(read).InTime());
        Assert.Equal(1, await stream.ReadAsync(read).InTime());
        await Assert.ThrowsAnyAsync<IOException>(() => stream.ReadAsync(read).InTime());
        await stream.DisposeAsync().InTime();
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Read_Cancelled_ThrowsAndTheNextOneWorks(TransportKind kind)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        (Socket socket, Stream stream) = await OpenAsync(peer);
        using Socket client = socket;
        using CancellationTokenSource source = new();
        Task<int> reading = stream.ReadAsync(new byte[1], source.Token).AsTask();

        await source.CancelAsync();

        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => reading.InTime());
        await Task.Yield();
        await client.SendAllAsync("a"u8.ToArray());
        Assert.Equal(1, await stream.ReadAsync(new byte[1]).InTime());
        await stream.DisposeAsync().InTime();
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Dispose_AllWasRead_SendsFinBehindAllData(TransportKind kind)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        (Socket socket, Stream stream) = await OpenAsync(peer);
        using Socket client = socket;
        byte[] sent = Payload.Of(50_000);
        await stream.WriteAsync(sent).InTime();

        stream.Dispose();

        Payload.AssertEqual(sent, await client.ReceiveToEndAsync());
        Assert.False(stream.CanRead || stream.CanWrite);
        await Assert.ThrowsAsync<ObjectDisposedException>(() => stream.ReadAsync(new byte[1]).InTime());
        await Assert.ThrowsAsync<ObjectDisposedException>(() => stream.WriteAsync(new byte[1]).InTime());
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Dispose_DataIsUnread_Resets(TransportKind kind)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        (Socket socket, Stream stream) = await OpenAsync(peer);
        using Socket client = socket;
        await client.SendAllAsync("ab"u8.ToArray());
        Assert.Equal(1, await stream.ReadAsync(new byte[1]).InTime());

        await stream.DisposeAsync().InTime();

        await client.AssertResetAsync();
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Dispose_WhileReading_EndsTheReadAndSendsFin(TransportKind kind)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        (Socket socket, Stream stream) = await OpenAsync(peer);
        using Socket client = socket;
        Task<int> reading = stream.ReadAsync(new byte[1]).AsTask();

        await stream.DisposeAsync().InTime();

        await Assert.ThrowsAnyAsync<IOException>(() => reading.InTime());
        Assert.Empty(await client.ReceiveToEndAsync());
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Dispose_WhileAWriteWaits_EndsTheWriteAndResets(TransportKind kind)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        (Socket socket, Stream stream) = await OpenAsync(peer);
        using Socket client = socket;
        Task writing = stream.WriteAsync(Payload.Of(64 * 1024 * 1024)).AsTask();
        Assert.False(writing.IsCompleted);

        await stream.DisposeAsync().InTime();

        await Assert.ThrowsAnyAsync<IOException>(() => writing.InTime());
        await client.AssertResetAsync();
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Dispose_PeerTakesNothing_ResetsAfterAWhile(TransportKind kind)
    {
        ManualTime time = new();
        await using OutgoingPeer peer = OutgoingPeer.Start(kind, options => options.MaxWriteBufferSize = null, time: time);
        (Socket socket, Stream stream) = await OpenAsync(peer);
        using Socket client = socket;
        await stream.WriteAsync(Payload.Of(64 * 1024 * 1024)).InTime();

        Task disposing = stream.DisposeAsync().AsTask();
        await Deadline.UntilAsync(() => time.TimerCount == 1, () => $"{time.TimerCount} timers were begun.");
        Assert.False(disposing.IsCompleted);
        time.PassPeriod();

        await disposing.InTime();
        await client.AssertResetAsync();
    }

    /// <summary>Whether the kernel has the FIN on the other side: FIN_WAIT2 in the first byte of TCP_INFO (tcp(7)).</summary>
    private static bool HasAnswerToFin(Socket socket)
    {
        const int Tcp = 6;
        const int TcpInfo = 11;
        const byte FinWait2 = 5;
        Span<byte> info = stackalloc byte[8];
        socket.GetRawSocketOption(Tcp, TcpInfo, info);
        return info[0] == FinWait2;
    }

    private static async Task<(Socket Client, Stream Stream)> OpenAsync(OutgoingPeer peer)
    {
        Stream stream = await peer.Factory.ConnectStreamAsync(peer.EndPoint, default).InTime();

        // Off the loop: what a test does must not keep the loop from its work.
        await Task.Yield();
        return (await peer.AcceptAsync(), stream);
    }
}
