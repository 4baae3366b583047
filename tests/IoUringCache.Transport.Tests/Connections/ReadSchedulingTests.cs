using System.IO.Pipelines;
using IoUringCache.Transport.Tests.Loops;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Http.Features;

namespace IoUringCache.Transport.Tests.Connections;

/// <summary>
/// Where a read goes on that another thread than the loop's has asked for, as Kestrel does for the first of every connection. Between the
/// call and the await there is time enough for the loop to end the read: that must not make it go on where it was asked for, for there
/// the request would be handled.
/// </summary>
public sealed class ReadSchedulingTests
{
    [Theory]
    [InlineData(TransportKind.Inline)]
    [InlineData(TransportKind.Adaptive)]
    public async Task Read_WithDataThere_AwaitedLate_GoesOnOnTheLoop(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        await pair.Client.SendAllAsync(new byte[1]);
        ReadResult result = await pair.Input.ReadAsync().InTime();
        pair.Input.AdvanceTo(result.Buffer.Start);
        await AssertGoesOnOnTheLoopAsync(pair, pair.Input.ReadAsync);
    }

    [Theory]
    [InlineData(TransportKind.Inline)]
    [InlineData(TransportKind.Adaptive)]
    public async Task Read_EndedBeforeItIsAwaited_GoesOnOnTheLoop(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        await AssertGoesOnOnTheLoopAsync(pair, token =>
        {
            ValueTask<ReadResult> reading = pair.Input.ReadAsync(token);
            pair.Input.CancelPendingRead();
            return reading;
        });
    }

    private static async Task AssertGoesOnOnTheLoopAsync(ConnectionPair pair, Func<CancellationToken, ValueTask<ReadResult>> read)
    {
        await Task.Run(async () =>
        {
            ValueTask<ReadResult> reading = read(CancellationToken.None);

            // What is scheduled behind it has run, so the loop has had its turn.
            ThreadRecorder behind = new();
            pair.Server.Features.GetRequiredFeature<IConnectionSchedulerFeature>().Schedule([behind]);
            int loop = await behind.Ran.InTime();

            Assert.False(reading.IsCompleted);
            TaskCompletionSource<int> wentOn = new(TaskCreationOptions.RunContinuationsAsynchronously);
            reading.GetAwaiter().UnsafeOnCompleted(() => wentOn.SetResult(Environment.CurrentManagedThreadId));
            Assert.Equal(loop, await wentOn.Task.InTime());
            pair.Input.AdvanceTo((await reading).Buffer.End);
        }).InTime();
    }
}
