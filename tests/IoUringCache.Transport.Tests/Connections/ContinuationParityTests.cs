using System.IO.Pipelines;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Transport.Tests.Connections;

/// <summary>
/// Where continuations of reads and flushes run: never inside a call of the application that ends the wait, and never while the
/// transport holds one of its locks.
/// </summary>
public sealed class ContinuationParityTests
{
    /// <summary>Calls that end a pending read.</summary>
    private static readonly Dictionary<string, Action<ConnectionPair, CancellationTokenSource>> s_readEnds = new()
    {
        ["CancelPendingRead"] = (pair, _) => pair.Input.CancelPendingRead(),
        ["Abort"] = (pair, _) => pair.Server.Abort(),
        ["cancelled token"] = (_, source) => source.Cancel(),
        ["completed output"] = (pair, _) => pair.Output.Complete(),
        ["output completed with an error"] = (pair, _) => pair.Output.Complete(new IOException("broken off")),
    };

    /// <summary>Calls that end a pending flush.</summary>
    private static readonly Dictionary<string, Action<ConnectionPair, CancellationTokenSource>> s_flushEnds = new()
    {
        ["CancelPendingFlush"] = (pair, _) => pair.Output.CancelPendingFlush(),
        ["Abort"] = (pair, _) => pair.Server.Abort(),
        ["cancelled token"] = (_, source) => source.Cancel(),
    };

    public static TheoryData<TransportKind, string> ReadEnds => Transports.AllWith(s_readEnds.Keys);

    public static TheoryData<TransportKind, string> FlushEnds => Transports.AllWith(s_flushEnds.Keys);

    [Theory]
    [MemberData(nameof(ReadEnds))]
    public async Task Read_EndedByACall_GoesOnOutsideOfIt(TransportKind kind, string call)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        using CancellationTokenSource source = new();
        ValueTask<ReadResult> reading = pair.Input.ReadAsync(source.Token);
        Assert.False(reading.IsCompleted);
        await AssertGoesOnElsewhereAsync(reading, () => s_readEnds[call](pair, source));
    }

    [Theory]
    [MemberData(nameof(FlushEnds))]
    public async Task Flush_EndedByACall_GoesOnOutsideOfIt(TransportKind kind, string call)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync(client => client.ReceiveBufferSize = 4096);
        Task<FlushResult> filling = await pair.Server.FlushUntilItWaitsAsync();
        pair.Output.CancelPendingFlush();
        await filling.InTime();

        using CancellationTokenSource source = new();
        ValueTask<FlushResult> flushing = pair.Output.WriteAsync(new byte[100_000], source.Token);
        Assert.False(flushing.IsCompleted);
        await AssertGoesOnElsewhereAsync(flushing, () => s_flushEnds[call](pair, source));
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Read_ContinuationThatWaitsForAnotherThreadsCalls_IsUnderNoLock(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        Task<bool> finished = ContinueAsync(pair.Input.ReadAsync(), () => CallFromAnotherThread(pair));
        await pair.Client.SendAllAsync(new byte[1]);
        Assert.True(await finished.InTime());
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Flush_ContinuationThatWaitsForAnotherThreadsCalls_IsUnderNoLock(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync(client => client.ReceiveBufferSize = 4096);
        ValueTask<FlushResult> flushing = pair.Output.WriteAsync(new byte[8 * 1024 * 1024]);
        Assert.False(flushing.IsCompleted);
        Task<bool> finished = ContinueAsync(flushing, () => CallFromAnotherThread(pair));
        Task<Exception?> draining = Record.ExceptionAsync(pair.Client.ReceiveToEndAsync).AsTask();
        Assert.True(await finished.InTime());
        await draining.InTime();
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Read_AbortedFromItsOwnContinuation_NextReadThrows(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        Task aborting = ReadAndAbortAsync(pair);
        await pair.Client.SendAllAsync(new byte[1]);
        await aborting.InTime();
        await Assert.ThrowsAsync<ConnectionAbortedException>(() => pair.Input.ReadAsync().InTime());
        await pair.Client.AssertResetAsync();

        static async Task ReadAndAbortAsync(ConnectionPair pair)
        {
            ReadResult result = await pair.Input.ReadAsync();
            pair.Server.Abort(new ConnectionAbortedException("from inside"));
            pair.Input.AdvanceTo(result.Buffer.Start, result.Buffer.End);
        }
    }

    /// <summary>Every lock of a connection's pipes is taken by one of these calls.</summary>
    private static bool CallFromAnotherThread(ConnectionPair pair)
    {
        Thread other = new(() =>
        {
            pair.Input.CancelPendingRead();
            pair.Output.CancelPendingFlush();
            pair.Output.GetSpan(10_000);
            pair.Server.Abort();
        });
        other.Start();
        return other.Join(Deadline.Limit);
    }

    private static async Task<bool> ContinueAsync<T>(ValueTask<T> pending, Func<bool> continuation)
    {
        await pending.ConfigureAwait(false);
        return continuation();
    }

    /// <summary>A thread of its own makes the call, so a continuation on that thread can only run inside the call.</summary>
    private static async Task AssertGoesOnElsewhereAsync<T>(ValueTask<T> pending, Action call)
    {
        Task<int> continued = ThreadAfterAsync(pending);
        Thread caller = new(() => call());
        caller.Start();
        Assert.NotEqual(caller.ManagedThreadId, await continued.InTime());
        Assert.True(caller.Join(Deadline.Limit));
    }

    private static async Task<int> ThreadAfterAsync<T>(ValueTask<T> pending)
    {
        try
        {
            await pending.ConfigureAwait(false);
        }
        catch (Exception exception) when (exception is OperationCanceledException or IOException)
        {
            // How it ends is for other tests.
        }

        return Environment.CurrentManagedThreadId;
    }
}
