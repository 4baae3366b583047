using System.Diagnostics;
using IoUringCache.Transport.Tests.Support;

namespace IoUringCache.Transport.Tests.Faults;

/// <summary>What the tests of faults share: a server whose kernel the test has in hand, and proof that a connection works.</summary>
internal static class FaultTest
{
    internal static Task<TransportServer> StartAsync(
        FaultKernel kernel, TransportKind kind, Action<IoUringTransportOptions>? configure = null) => TransportServer.StartAsync(
        kind,
        options =>
        {
            options.LoopCount = 1;
            configure?.Invoke(options);
        },
        kernel: kernel);

    /// <summary>Sends bytes both ways and compares them.</summary>
    internal static async Task AssertWorksAsync(this ConnectionPair pair, int length = 3)
    {
        byte[] sent = Payload.Of(length);
        Task sending = pair.Client.SendAllAsync(sent);
        Payload.AssertEqual(sent, await pair.Input.TakeAsync(length));
        await sending.InTime();
        Task<byte[]> receiving = pair.Client.ReceiveExactlyAsync(length);
        await pair.Output.WriteAsync(sent).InTime();
        Payload.AssertEqual(sent, await receiving.InTime());
    }

    /// <summary>
    /// Watches a fault that lasts: whatever meets it tries again every hundredth of a second or so, and a loop that does not pause tries
    /// thousands of times.
    /// </summary>
    internal static async Task AssertNotInAHurryAsync(this Fault fault)
    {
        await Deadline.UntilAsync(() => fault.StrikeCount > 0, () => "It did not strike.");
        await AssertSeldomAsync(() => fault.StrikeCount);
        fault.End();
    }

    /// <summary>Watches a loop that has nothing to do.</summary>
    internal static Task AssertSleepsAsync(this FaultKernel kernel) => AssertSeldomAsync(() => kernel.EnterCount);

    /// <summary>A new connection, which works.</summary>
    internal static async Task AssertServesAsync(this TransportServer server)
    {
        await using ConnectionPair pair = await server.ConnectAsync();
        await pair.AssertWorksAsync();
    }

    /// <summary>
    /// Counts for 300 ms, or for as much longer as a busy machine makes of it: what is asserted is the rate, one in 2 ms at most.
    /// </summary>
    private static async Task AssertSeldomAsync(Func<int> count)
    {
        Stopwatch elapsed = Stopwatch.StartNew();
        int before = count();
        using PeriodicTimer timer = new(TimeSpan.FromMilliseconds(300));
        await timer.WaitForNextTickAsync().InTime();
        int counted = count() - before;
        Assert.InRange(counted, 0, elapsed.ElapsedMilliseconds / 2);
    }
}
