using System.IO.Pipelines;
using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Loops;
using IoUringCache.Transport.Tests.Support;

namespace IoUringCache.Transport.Tests.Faults;

/// <summary>
/// Operations that go on until they are cancelled complete through the thread that submitted them. When the loop has another one, that
/// submits them anew, and nobody's data is lost or doubled by it; and nothing that it waits for depends on the one before.
/// </summary>
public sealed class RearmTests
{
    private const int Idle = 20;

    [Fact]
    public async Task Owner_StaysAway_EverythingIsArmedAnewAndAgainAtHome()
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await FaultTest.StartAsync(kernel, TransportKind.Adaptive);
        List<ConnectionPair> pairs = await ConnectAsync(server, Idle);
        ConnectionPair blocked = await server.ConnectAsync();
        await server.AssertServesAsync();
        Fault receives = kernel.Watch(OperationKind.Receive);
        Fault accepts = kernel.Watch(OperationKind.Accept);

        using ManualResetEventSlim release = new();
        Task application = await BlockAsync(blocked, release);
        await Deadline.UntilAsync(
            () => receives.StrikeCount > Idle && accepts.StrikeCount >= 1,
            () => $"The new owner submitted {receives.StrikeCount} receives and {accepts.StrikeCount} accepts.");
        await AssertWorkAsync(pairs);
        await server.AssertServesAsync();

        int awayReceives = receives.StrikeCount;
        int awayAccepts = accepts.StrikeCount;
        release.Set();
        await application.InTime();
        await Deadline.UntilAsync(
            () => receives.StrikeCount > awayReceives + Idle && accepts.StrikeCount > awayAccepts,
            () => $"At home {receives.StrikeCount - awayReceives} receives and {accepts.StrikeCount - awayAccepts} accepts were submitted.");
        await AssertWorkAsync(pairs);
        await kernel.AssertSleepsAsync();
        await EndAsync([.. pairs, blocked]);
    }

    [Fact]
    public async Task Owner_New_IsWokenByAnEventOfItsOwn()
    {
        using FaultKernel kernel = new();
        using EventDescriptor never = EventDescriptor.Create();
        await using TransportServer server = await FaultTest.StartAsync(kernel, TransportKind.Adaptive);
        ConnectionPair blocked = await server.ConnectAsync();
        ConnectionPair pair = await server.ConnectAsync();
        await pair.AssertWorksAsync();

        // From its next wake-up on the home thread is deaf, as it would be if it waited uninterruptibly: only a new owner's event is heard.
        // On a machine so slow that each call loses the loop, a spare may have it, and be woken in its place.
        Fault deaf = kernel.DeafenHomeThread(never);
        for (int wakes = 0; deaf.StrikeCount == 0; wakes++)
        {
            Assert.True(wakes < 10_000, "The home thread was not woken.");
            await pair.Output.WriteAsync("a"u8.ToArray()).InTime();
            await pair.Client.ReceiveExactlyAsync(1);
        }

        using ManualResetEventSlim release = new();
        Task application = await BlockAsync(blocked, release);
        for (int i = 0; i < 50; i++)
        {
            await Task.Run(() => pair.Output.WriteAsync("b"u8.ToArray()).InTime());
            await pair.Client.ReceiveExactlyAsync(1);
        }

        release.Set();
        await application.InTime();
        never.Signal();
        await pair.AssertWorksAsync();
        await EndAsync([pair, blocked]);
    }

    [Fact]
    public async Task Rearming_CancellationsAreRefused_NothingIsLost()
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await FaultTest.StartAsync(kernel, TransportKind.Adaptive);
        List<ConnectionPair> pairs = await ConnectAsync(server, Idle);
        ConnectionPair blocked = await server.ConnectAsync();
        Fault receives = kernel.RefuseCancellation(OperationKind.Receive, Errno.EALREADY);
        Fault accepts = kernel.RefuseCancellation(OperationKind.Accept, Errno.ENOENT);

        using ManualResetEventSlim release = new();
        Task application = await BlockAsync(blocked, release);
        await Deadline.UntilAsync(
            () => receives.StrikeCount > Idle && accepts.StrikeCount >= 1, () => "The new owner did not try to submit anything anew.");
        await AssertWorkAsync(pairs);
        release.Set();
        await application.InTime();
        await AssertWorkAsync(pairs);
        receives.End();
        accepts.End();
        await server.AssertServesAsync();
        await EndAsync([.. pairs, blocked]);
    }

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    public async Task Data_WhileTheLoopChangesHands_ArrivesOnceAndInOrder(int seed)
    {
        const int Bytes = 400_000;
        const int Rounds = 15;
        using FaultKernel kernel = new();
        await using TransportServer server = await FaultTest.StartAsync(
            kernel, TransportKind.Adaptive, options => options.MaxReadBufferSize = 10_000);
        List<ConnectionPair> pairs = await ConnectAsync(server, 6);
        Random random = new(seed);
        using CancellationTokenSource stop = new();
        Task[] traffic = [.. pairs.Select((pair, index) => EchoAgainAndAgainAsync(pair, Bytes, index, stop.Token))];
        for (int round = 0; round < Rounds; round++)
        {
            ConnectionPair blocked = await server.ConnectAsync();
            using ManualResetEventSlim release = new();
            Task application = await BlockAsync(blocked, release);

            // Long enough for some to have been armed anew, and not always for all.
            int enters = kernel.EnterCount + random.Next(40);
            await Deadline.UntilAsync(() => kernel.EnterCount >= enters, () => "The loop stands still.");
            release.Set();
            await application.InTime();
            await blocked.DisposeAsync();
        }

        await stop.CancelAsync();
        await Task.WhenAll(traffic).WaitAsync(Deadline.Limit * 4);
        await EndAsync(pairs);
    }

    private static async Task<List<ConnectionPair>> ConnectAsync(TransportServer server, int count)
    {
        List<ConnectionPair> pairs = [];
        for (int i = 0; i < count; i++)
        {
            pairs.Add(await server.ConnectAsync());
        }

        return pairs;
    }

    private static async Task AssertWorkAsync(List<ConnectionPair> pairs)
    {
        foreach (ConnectionPair pair in pairs)
        {
            await pair.AssertWorksAsync();
        }
    }

    /// <summary>Has a connection's application block the loop; the task ends when the application has been let go.</summary>
    private static async Task<Task> BlockAsync(ConnectionPair pair, ManualResetEventSlim release)
    {
        TaskCompletionSource entered = new(TaskCreationOptions.RunContinuationsAsynchronously);
        Task application = RunAsync();
        await pair.Client.SendAllAsync("abc"u8.ToArray());
        await entered.Task.InTime();
        return application;

        async Task RunAsync()
        {
            ReadResult read = await pair.Input.ReadAsync().ConfigureAwait(false);
            pair.Input.AdvanceTo(read.Buffer.End);
            entered.SetResult();
            release.Wait(Deadline.Limit);
        }
    }

    private static async Task EchoAgainAndAgainAsync(ConnectionPair pair, int bytes, int seed, CancellationToken stop)
    {
        do
        {
            byte[] sent = Payload.Of(bytes, seed);
            Task sending = pair.Client.SendAllAsync(sent);
            Payload.AssertEqual(sent, await pair.Input.TakeAsync(bytes));
            await sending.InTime();
            await Task.Yield();
        }
        while (!stop.IsCancellationRequested);
    }

    private static async Task EndAsync(List<ConnectionPair> pairs)
    {
        foreach (ConnectionPair pair in pairs)
        {
            await pair.DisposeAsync();
        }
    }
}
