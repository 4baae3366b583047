using System.IO.Pipelines;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Transport.Tests.Faults;

/// <summary>Flushes of other threads than the loop's while a read waits on the connection: the thread pool sends what was flushed.</summary>
public sealed class FlushWhileReadingTests
{
    public static TheoryData<TransportKind> IoUring => Transports.IoUring;

    public static TheoryData<TransportKind, int> Seeds => Transports.IoUringWith(Enumerable.Range(1, 5));

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Flush_WhileAReadWaits_IsSentByThePool(TransportKind kind)
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        Task<ReadResult> read = await ReadAsync(pair);
        bool? isOfPool = null;
        kernel.OnSend = _ =>
        {
            isOfPool = Thread.CurrentThread.IsThreadPoolThread;
            return null;
        };
        byte[] sent = Payload.Of(100);

        await FlushAsync(pair.Output, sent);

        Payload.AssertEqual(sent, await pair.Client.ReceiveExactlyAsync(sent.Length));
        Assert.True(isOfPool);
        Assert.False(read.IsCompleted);
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Flush_WhileNobodyReads_IsSentByTheLoop(TransportKind kind)
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        int count = 0;
        kernel.OnSend = _ =>
        {
            count++;
            return null;
        };
        byte[] sent = Payload.Of(100);

        await FlushAsync(pair.Output, sent);

        Payload.AssertEqual(sent, await pair.Client.ReceiveExactlyAsync(sent.Length));
        Assert.Equal(0, count);
    }

    [Theory]
    [MemberData(nameof(Seeds))]
    public async Task Sends_RefusedOrShortAtRandom_KeepTheOrder(TransportKind kind, int seed)
    {
        Random random = new(seed);
        using FaultKernel kernel = new();
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind, options => options.MaxWriteBufferSize = 20_000);
        await using ConnectionPair pair = await server.ConnectAsync();
        Task<ReadResult> read = await ReadAsync(pair);
        RandomSends sends = new(kernel, seed, 500);
        byte[] sent = Payload.Of(400_000, seed);
        Task<byte[]> receiving = pair.Client.ReceiveToEndAsync();

        for (int at = 0; at < sent.Length;)
        {
            int length = Math.Min(random.Next(1, 3000), sent.Length - at);
            await FlushAsync(pair.Output, sent.AsMemory(at, length));
            at += length;
        }

        await pair.Output.CompleteAsync().InTime();
        Payload.AssertEqual(sent, await receiving);
        Assert.NotEqual(0, sends.Count);
        await Assert.ThrowsAsync<ConnectionAbortedException>(() => read.InTime());
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Abort_WhileThePoolSends_ClosesBehindIt(TransportKind kind)
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        ConnectionPair pair = await server.ConnectAsync();
        OpenSocket socket = new(pair);
        Task<ReadResult> read = await ReadAsync(pair);
        using HeldSend held = new(kernel);
        await FlushAsync(pair.Output, Payload.Of(100));
        await held.HeldAsync();

        pair.Server.Abort();
        await Assert.ThrowsAsync<ConnectionAbortedException>(() => read.InTime());
        Task disposing = pair.Server.DisposeAsync().AsTask();
        await server.AssertServesAsync(); // The completion of the cancelled receive has come by then.
        await server.AssertServesAsync();

        Assert.True(socket.IsOpen);
        Assert.False(disposing.IsCompleted);
        held.LetGo();
        await disposing.InTime();
        await pair.Client.AssertResetAsync();
        pair.Client.Dispose();
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Dispose_RightAfterTheFlush_SendsItFirst(TransportKind kind)
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        for (int number = 0; number < 20; number++)
        {
            ConnectionPair pair = await server.ConnectAsync();
            Task<ReadResult> read = await ReadAsync(pair);
            byte[] sent = Payload.Of(100, number);

            await FlushAsync(pair.Output, sent);
            Task disposing = pair.Server.DisposeAsync().AsTask();

            Payload.AssertEqual(sent, await pair.Client.ReceiveToEndAsync());
            await disposing.InTime();
            await Assert.ThrowsAsync<ConnectionAbortedException>(() => read.InTime());
            pair.Client.Dispose();
        }
    }

    /// <summary>Everything but the test's own thread uses the pool, so the test uses none of it until the pool's threads are let go.</summary>
    [Fact]
    public async Task Flush_ThreadPoolIsUsedUp_LeavesAllTheSame()
    {
        IoUringRequirement.Check();
        using FaultKernel kernel = new();
        await using TransportServer server = await FaultTest.StartAsync(kernel, TransportKind.Adaptive);
        await using ConnectionPair pair = await server.ConnectAsync();
        Task<ReadResult> read = await ReadAsync(pair);
        byte[] sent = Payload.Of(100);
        TaskCompletionSource<byte[]> received = new(TaskCreationOptions.RunContinuationsAsynchronously);
        Thread thread = new(() =>
        {
            using BlockedPool pool = new();
            try
            {
                ValueTask<FlushResult> flush = pair.Output.WriteAsync(sent);
                Assert.True(flush.IsCompletedSuccessfully);
                byte[] answer = new byte[sent.Length];
                pair.Client.ReceiveTimeout = (int)Deadline.Limit.TotalMilliseconds;
                int length = pair.Client.Receive(answer);
                Assert.True(pool.IsBlocked);
                received.SetResult(answer[..length]);
            }
            catch (Exception exception)
            {
                received.SetException(exception);
            }
        });

        thread.Start();

        Payload.AssertEqual(sent, await received.Task.WaitAsync(2 * Deadline.Limit));
        Assert.False(read.IsCompleted);
    }

    /// <summary>A read that waits for the client, begun on a thread of the pool.</summary>
    private static async Task<Task<ReadResult>> ReadAsync(ConnectionPair pair) =>
        (await Task.Run(() => Tuple.Create(pair.Input.ReadAsync().AsTask())).InTime()).Item1;

    private static Task<FlushResult> FlushAsync(PipeWriter output, ReadOnlyMemory<byte> bytes) =>
        Task.Run(() => output.WriteAsync(bytes).AsTask()).InTime();
}
