using System.IO.Pipelines;
using System.Net.Sockets;
using IoUringCache.Ring;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;

namespace IoUringCache.Transport.Tests.Faults;

/// <summary>Sends by the thread that flushes: who sends, in which order, and ends meanwhile.</summary>
public sealed class DirectSendTests
{
    /// <summary>A flush of so many bytes would have to wait.</summary>
    private const int Limit = 1000;

    private static readonly Errno[] s_passing = [Errno.EAGAIN, Errno.EINTR, Errno.ENOMEM, Errno.ENOBUFS];
    private static readonly Errno[] s_final = [Errno.EPIPE, Errno.ECONNRESET, Errno.ETIMEDOUT];

    public static TheoryData<TransportKind> IoUring => Transports.IoUring;

    public static TheoryData<TransportKind, Errno> Passing => Transports.IoUringWith(s_passing);

    public static TheoryData<TransportKind, Errno> Final => Transports.IoUringWith(s_final);

    public static TheoryData<TransportKind, int> Seeds => Transports.IoUringWith(Enumerable.Range(1, 5));

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Flush_WouldHaveToWait_IsSentByItsOwnThread(TransportKind kind)
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await StartAsync(kernel, kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        int sender = 0;
        kernel.OnSend = _ =>
        {
            sender = Environment.CurrentManagedThreadId;
            return null;
        };
        byte[] sent = Payload.Of(Limit);

        (int flusher, bool isCompleted) = await Task.Run(() =>
            (Environment.CurrentManagedThreadId, pair.Output.WriteAsync(sent).AsTask().IsCompletedSuccessfully)).InTime();

        Assert.True(isCompleted);
        Assert.Equal(flusher, sender);
        Payload.AssertEqual(sent, await pair.Client.ReceiveExactlyAsync(Limit));
    }

    [Theory]
    [MemberData(nameof(Seeds))]
    public async Task Sends_RefusedOrShortAtRandom_KeepTheOrder(TransportKind kind, int seed)
    {
        Random random = new(seed);
        using FaultKernel kernel = new();
        await using TransportServer server = await StartAsync(kernel, kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        pair.Server.Features.Get<IConnectionSocketFeature>()!.Socket.SendBufferSize = 4096;
        RandomSends sends = new(kernel, seed, Limit);
        byte[] sent = Payload.Of(400_000, seed);
        Task<byte[]> receiving = pair.Client.ReceiveToEndAsync();

        for (int at = 0; at < sent.Length;)
        {
            int length = Math.Min(random.Next(1, 3 * Limit), sent.Length - at);
            await FlushAsync(pair.Output, sent.AsMemory(at, length));
            at += length;
        }

        await pair.Output.CompleteAsync().InTime();
        Payload.AssertEqual(sent, await receiving);
        Assert.True(sends.Count > 10);
    }

    [Theory]
    [MemberData(nameof(Passing))]
    public async Task Send_PassingError_IsTheLoopsToSend(TransportKind kind, Errno error)
    {
        using FaultKernel kernel = new() { OnSend = _ => FaultKernel.Failure(error) };
        await using TransportServer server = await StartAsync(kernel, kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        byte[] sent = Payload.Of(Limit);

        await FlushAsync(pair.Output, sent);

        Payload.AssertEqual(sent, await pair.Client.ReceiveExactlyAsync(Limit));
    }

    [Theory]
    [MemberData(nameof(Final))]
    public async Task Send_FinalError_EndsThatConnectionOnly(TransportKind kind, Errno error)
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await StartAsync(kernel, kind);
        await using ConnectionPair other = await server.ConnectAsync();
        await using ConnectionPair pair = await server.ConnectAsync();
        Task<ReadResult> read = pair.Input.ReadAsync().AsTask();
        int left = 1;
        kernel.OnSend = _ => Interlocked.Decrement(ref left) >= 0 ? FaultKernel.Failure(error) : null;

        Assert.True((await FlushAsync(pair.Output, Payload.Of(Limit))).IsCompleted);

        Exception reason = await Assert.ThrowsAnyAsync<IOException>(() => read.InTime());
        Assert.Equal(error is not Errno.ETIMEDOUT, reason is ConnectionResetException);
        await pair.Client.AssertResetAsync();
        await other.AssertWorksAsync();
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Abort_WhileAThreadSends_ClosesBehindIt(TransportKind kind)
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await StartAsync(kernel, kind);
        ConnectionPair pair = await server.ConnectAsync();
        OpenSocket socket = new(pair);
        using HeldSend held = new(kernel);
        Task<FlushResult> flush = FlushAsync(pair.Output, Payload.Of(Limit));
        await held.HeldAsync();

        pair.Server.Abort();
        await Assert.ThrowsAsync<ConnectionAbortedException>(() => pair.Input.TakeToEndAsync());
        Task disposing = pair.Server.DisposeAsync().AsTask();
        await server.AssertServesAsync(); // The completion of the cancelled receive has come by then.
        await server.AssertServesAsync();

        Assert.True(socket.IsOpen);
        Assert.False(disposing.IsCompleted);
        held.LetGo();
        Assert.True((await flush).IsCompleted);
        await disposing.InTime();
        await pair.Client.AssertResetAsync();
        pair.Client.Dispose();
        await server.AssertServesAsync();
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Abort_AgainTogetherWithTheEndOfASend_ClosesStill(TransportKind kind)
    {
        using ManualResetEventSlim gate = new();
        using FaultKernel kernel = new();
        await using TransportServer server = await StartAsync(kernel, kind);
        ConnectionPair pair = await server.ConnectAsync();
        using HeldSend held = new(kernel);
        Task<FlushResult> flush = FlushAsync(pair.Output, Payload.Of(Limit));
        await held.HeldAsync();
        pair.Server.Abort();
        await Assert.ThrowsAsync<ConnectionAbortedException>(() => pair.Input.TakeToEndAsync());
        await server.AssertServesAsync(); // The completion of the cancelled receive has come by then.
        await server.AssertServesAsync();

        // While the loop is away, the thread comes out of its send, which asks for the close, and the application aborts again.
        TaskCompletionSource away = new(TaskCreationOptions.RunContinuationsAsynchronously);
        kernel.OnEnter = _ =>
        {
            away.TrySetResult();
            return gate.Wait(Deadline.Limit) ? null : FaultKernel.Failure(Errno.EBADR);
        };
        using Socket another = await server.ConnectClientAsync();
        await away.Task.InTime();
        held.LetGo();
        await flush;
        pair.Server.Abort();
        gate.Set();

        await pair.Server.DisposeAsync().InTime();
        await (await server.AcceptAsync())!.DisposeAsync().InTime();
        await pair.Client.AssertResetAsync();
        pair.Client.Dispose();
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Dispose_WhileAThreadSends_FinComesBehindItsData(TransportKind kind)
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await StartAsync(kernel, kind);
        ConnectionPair pair = await server.ConnectAsync();
        using HeldSend held = new(kernel);
        byte[] sent = Payload.Of(Limit);
        Task<FlushResult> flush = FlushAsync(pair.Output, sent);
        await held.HeldAsync();

        Task disposing = pair.Server.DisposeAsync().AsTask();
        await server.AssertServesAsync(); // The loop has heard of the end by then.

        held.LetGo();
        Payload.AssertEqual(sent, await pair.Client.ReceiveToEndAsync());
        await flush;
        await disposing.InTime();
        pair.Client.Dispose();
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Loop_BreaksWhileAThreadSends_ClosesBehindIt(TransportKind kind)
    {
        using FaultKernel kernel = new();
        TransportServer server = await StartAsync(kernel, kind);
        ConnectionPair pair = await server.ConnectAsync();
        OpenSocket socket = new(pair);
        using HeldSend held = new(kernel);
        Task<FlushResult> flush = FlushAsync(pair.Output, Payload.Of(Limit));
        await held.HeldAsync();
        TaskCompletionSource broken = new(TaskCreationOptions.RunContinuationsAsynchronously);
        kernel.OnEnter = _ =>
        {
            broken.TrySetResult();
            return FaultKernel.Failure(Errno.EBADR);
        };

        await pair.Client.SendAllAsync(new byte[1]);
        await broken.Task.InTime();
        using PeriodicTimer timer = new(TimeSpan.FromMilliseconds(100));
        await timer.WaitForNextTickAsync().InTime();

        Assert.True(socket.IsOpen);
        held.LetGo();
        await flush;
        await pair.DisposeAsync();
        await Assert.ThrowsAsync<IoUringException>(() => server.DisposeAsync().InTime());
    }

    private static Task<TransportServer> StartAsync(FaultKernel kernel, TransportKind kind, long limit = Limit) =>
        FaultTest.StartAsync(kernel, kind, options => options.MaxWriteBufferSize = limit);

    /// <summary>On a thread of the pool, whatever thread the test has just come from.</summary>
    private static Task<FlushResult> FlushAsync(PipeWriter output, ReadOnlyMemory<byte> bytes) =>
        Task.Run(() => output.WriteAsync(bytes).AsTask()).InTime();
}
